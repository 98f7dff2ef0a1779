// SPDX-License-Identifier: Apache-2.0
// Thread-local variables next to each other, with a gap that none covers.
__thread char first[24] = {1};
__thread int second = 2;
__thread char aligned[64] __attribute__((aligned(64)));

int main(void)
{
	return first[0] + second + aligned[0];
}
