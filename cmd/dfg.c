#include "cmd/cmd.h"

int main(void)
{
	return 0;
}
