/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A server with two bugs of C++: a cache whose key has the time in it, so that it never hits, and a
 * cycle of shared_ptr that an error path leaves behind. Arguments: requests; "wait" to stay alive.
 * Prints the number of sessions lost in cycles, then crashes.
 */
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>

struct Deadline;

/** A client's request. */
struct Session : std::enable_shared_from_this<Session> {
	explicit Session(int number) : number(number), buffer(900, 'r')
	{
	}
	virtual ~Session() = default;

	int number;
	std::string buffer;
	std::shared_ptr<Deadline> deadline;
};

/** Calls back when time is up. */
struct Deadline {
	virtual ~Deadline() = default;
	virtual void cancel()
	{
		expired = nullptr;
	}

	std::function<void()> expired;
	long due = 0;
};

struct Answer {
	virtual ~Answer() = default;
	std::string text;
};

/** Answers by request, that are never asked for again. */
class AnswerCache
{
      public:
	std::shared_ptr<Answer> get(const std::string &key)
	{
		auto at = answers.find(key);

		return at == answers.end() ? nullptr : at->second;
	}

	std::shared_ptr<Answer> put(const std::string &key, std::string text)
	{
		auto answer = std::make_shared<Answer>();

		answer->text = std::move(text);
		answers[key] = answer;
		return answer;
	}

      private:
	std::map<std::string, std::shared_ptr<Answer>> answers;
};

class Server
{
      public:
	/** Returns false if the request was refused. */
	bool serve(int number)
	{
		auto session = open(number);

		if (number % 7 == 3)
			return false; // the bug: nobody cancels the deadline
		answer(*session);
		session->deadline->cancel();
		return true;
	}

      private:
	std::shared_ptr<Session> open(int number)
	{
		auto session = std::make_shared<Session>(number);
		auto deadline = std::make_shared<Deadline>();

		deadline->due = number + 30;
		deadline->expired = [session, deadline, number] {
			std::printf("session %d timed out %ld\n", number, deadline->due);
		};
		session->deadline = deadline;
		return session;
	}

	void answer(const Session &session)
	{
		std::string key = "/status?now=" + std::to_string(session.number); // the bug

		if (!cache.get(key))
			cache.put(key, std::string(400, 'a'));
	}

	AnswerCache cache;
};

int main(int count, char **arguments)
{
	int requests = count > 1 ? std::atoi(arguments[1]) : 6000;
	auto server = std::make_unique<Server>();
	int refused = 0;

	for (int i = 0; i < requests; i++)
		refused += !server->serve(i);
	std::printf("%d\n", refused);
	std::fflush(stdout);
	if (count > 2)
		pause();
	std::abort();
}
