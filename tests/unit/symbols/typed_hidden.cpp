/* Defines what typed.cpp declares. */
namespace shop
{
struct Hidden {
	long first;
	Hidden *other;
};

Hidden *make_hidden()
{
	return new Hidden{1, nullptr};
}
} // namespace shop
