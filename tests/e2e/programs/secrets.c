// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Keeps what it reads from stdin (forms of one secret, a line each) wherever a program may keep
 * data, and dies with it in its registers. argv[1] is a file that holds the secret, too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FORMS = 8, FORM_BYTES = 256, PAGE_BYTES = 4096, LARGE_BYTES = 1 << 20, BLOCKS = 64 };

static struct form {
	unsigned char bytes[FORM_BYTES];
	size_t size;
} forms[FORMS];
static size_t form_count;
static char in_bss[FORM_BYTES];
static char in_data[FORM_BYTES] = "some of it is not zero";
static __thread char in_tls[FORM_BYTES];

/** What a program holds: strings with their lengths in front, numbers, pointers among them. */
static struct account {
	struct account *next;
	uint64_t number;
	char *text;    /* behind a length, as redis has it */
	char name[40]; /* inside, at an odd place */
} * accounts;

static void read_forms(void)
{
	char line[2 * FORM_BYTES + 2];

	while (form_count < FORMS && fgets(line, sizeof(line), stdin)) {
		struct form *form = &forms[form_count++];
		unsigned byte;

		for (char *at = line; sscanf(at, "%2x", &byte) == 1 && *at != '\n'; at += 2)
			form->bytes[form->size++] = (unsigned char)byte;
	}
	memset(line, 0, sizeof(line));
}

static char *behind_length(const struct form *form)
{
	unsigned char *block = malloc(3 + form->size + 1);

	block[0] = block[1] = (unsigned char)form->size;
	block[2] = 1;
	memcpy(block + 3, form->bytes, form->size);
	block[3 + form->size] = 0;
	return (char *)block + 3;
}

static void keep_in_heap(const struct form *form)
{
	struct account *account = calloc(1, sizeof(*account));
	char *large = malloc(LARGE_BYTES), *small = malloc(100), *split;

	memcpy(&account->number, form->bytes, sizeof(account->number));
	memcpy(account->name + 3, form->bytes, form->size < 36 ? form->size : 36);
	account->text = behind_length(form);
	account->next = accounts;
	accounts = account;
	split = aligned_alloc(PAGE_BYTES, (size_t)2 * PAGE_BYTES);
	memcpy(split + PAGE_BYTES - form->size / 2, form->bytes, form->size);
	in_bss[0] ^= split[0];
	/* Freed: a large one, and a small one that the allocator keeps for later. */
	memcpy(large + LARGE_BYTES / 2, form->bytes, form->size);
	free(large);
	memcpy(small + 40, form->bytes, form->size < 60 ? form->size : 60);
	free(small);
}

static void keep_in_file_memory(const char *path)
{
	int fd = open(path, O_RDONLY);
	volatile char *shared = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	char *changed = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	memcpy(changed + 1000, forms[0].bytes, forms[0].size);
	in_bss[1] ^= shared[0];
}

/** Pages of files, too: what an administrator may have asked for. */
static void dump_everything(void)
{
	int fd = open("/proc/self/coredump_filter", O_WRONLY);

	if (fd >= 0 && write(fd, "0x7f", 4) != 4)
		puts("no file memory");
}

static void __attribute__((noinline)) die_with(const unsigned char *bytes)
{
	__asm__ volatile("movdqu (%0), %%xmm1\n\tmovdqu 16(%0), %%xmm9\n\t"
			 "mov (%0), %%rbx\n\tmov 8(%0), %%r12\n\tmov 3(%0), %%r13\n\t"
			 "mov 1(%0), %%r14\n\tmov 5(%0), %%rdx\n\tmov 2(%0), %%r9\n\t"
			 "xor %%eax, %%eax\n\tmovl $1, (%%rax)"
			 :
			 : "D"(bytes)
			 : "rax", "rbx", "rdx", "r9", "r12", "r13", "r14", "xmm1", "xmm9",
			   "memory");
}

static void *wait_with_secret(void *barrier)
{
	volatile unsigned char on_stack[FORM_BYTES];

	memcpy((void *)on_stack, forms[0].bytes, forms[0].size);
	memcpy(in_tls, forms[0].bytes, forms[0].size);
	pthread_barrier_wait(barrier);
	pause();
	return (void *)(uintptr_t)on_stack[0];
}

int main(int argc, char **argv)
{
	volatile unsigned char on_stack[FORM_BYTES];
	pthread_barrier_t barrier;
	pthread_t thread;

	if (argc < 2)
		return 1;
	read_forms();
	for (int i = 0; i < BLOCKS; i++)
		keep_in_heap(&forms[(size_t)i % form_count]);
	keep_in_file_memory(argv[1]);
	dump_everything();
	memcpy(in_bss + 7, forms[0].bytes, forms[0].size);
	memcpy(in_data + 30, forms[0].bytes, forms[0].size);
	memcpy(in_tls, forms[0].bytes, forms[0].size);
	memcpy((void *)on_stack, forms[0].bytes, forms[0].size);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, wait_with_secret, &barrier);
	pthread_barrier_wait(&barrier);
	die_with(forms[0].bytes);
	return on_stack[0];
}
