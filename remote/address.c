#include "remote/address.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct dfg_err *dfg_address_of_socket(int fd, char out_address[DFG_ADDRESS_BYTES])
{
	struct sockaddr_storage here;
	socklen_t length = sizeof here;
	char host[72], port[8];
	if (getsockname(fd, (struct sockaddr *)&here, &length) ||
		getnameinfo(
			(struct sockaddr *)&here, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
		return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "cannot read the address of a socket: %s", strerror(errno));
	snprintf(out_address, DFG_ADDRESS_BYTES, here.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return NULL;
}
