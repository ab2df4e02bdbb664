#include "lib/exec/device/provider.h"

#include "device_build.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects `opened` */
static const struct dfg_device_provider *opened;

/* dfg-cuda.so in the folder of this program. */
static void default_file(char *file, size_t capacity)
{
	char path[3000];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	path[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(path, '/');
	snprintf(file, capacity, "%.*sdfg-cuda.so", slash ? (int)(slash - path) + 1 : 0, path);
}

static struct dfg_err *open_library(void **out_library, const char **out_file)
{
	static char beside[3100];
	const char *named = getenv("DFG_CUDA");
	*out_file = named;
	if (!named || !*named) {
		default_file(beside, sizeof beside);
		*out_file = beside;
		if (access(beside, F_OK))
			return DFG_ERR(DFG_CONFIG,
				"no provider of CUDA devices: there is no %s, and DFG_CUDA does not name another file; for "
				"tests, 'make standin' builds dfg-cuda-standin.so",
				beside);
	}
	char path[3200];
	snprintf(path, sizeof path, "%s%s", strchr(*out_file, '/') ? "" : "./", *out_file);
	if (!(*out_library = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
		return DFG_ERR(DFG_CONFIG, "cannot open the provider of CUDA devices%s: %s",
			named ? " that DFG_CUDA names" : "", dlerror());
	return NULL;
}

static struct dfg_err *check_provider(const struct dfg_device_provider *provider, const char *file)
{
	char why[400] = "";
	if (!provider)
		return DFG_ERR(DFG_CONFIG, "%s is not a provider of devices: it lacks dfg_device_provider", file);
	if (strncmp(provider->build, DFG_DEVICE_BUILD, sizeof provider->build) != 0)
		return DFG_ERR(DFG_CONFIG, "%s is build %.16s, but this program requires build %s: build both with one 'make'",
			file, provider->build, DFG_DEVICE_BUILD);
	if (!provider->open(why, sizeof why))
		return DFG_ERR(DFG_CONFIG, "%s: %s", file, why);
	return NULL;
}

static struct dfg_err *open_provider(void)
{
	void *library = NULL;
	const char *file;
	DFG_TRY(open_library(&library, &file));
	const struct dfg_device_provider *provider = dlsym(library, "dfg_device_provider");
	struct dfg_err *err = check_provider(provider, file);
	if (err)
		dlclose(library);
	else
		opened = provider;
	return err;
}

bool dfg_device_provider_exists(void)
{
	char beside[3100];
	const char *named = getenv("DFG_CUDA");
	default_file(beside, sizeof beside);
	return (named && *named) || !access(beside, F_OK);
}

struct dfg_err *dfg_device_provider_open(const struct dfg_device_provider **out_provider)
{
	pthread_mutex_lock(&lock);
	struct dfg_err *err = opened ? NULL : open_provider();
	*out_provider = opened;
	pthread_mutex_unlock(&lock);
	return err;
}

struct dfg_err *dfg_device_count(const struct dfg_device_provider *provider, int *out_count)
{
	int driver = 0, runtime = 0;
	DFG_TRY(dfg_cuda_error(provider->api.cudaDriverGetVersion(&driver), "asking for the driver's version"));
	DFG_TRY(dfg_cuda_error(provider->api.cudaRuntimeGetVersion(&runtime), "asking for the CUDA runtime's version"));
	if (!driver)
		return DFG_ERR(
			DFG_CONFIG, "there is no NVIDIA driver: install one for CUDA %d.%d", runtime / 1000, runtime % 1000 / 10);
	if (driver / 1000 < runtime / 1000)
		return DFG_ERR(DFG_CONFIG,
			"the NVIDIA driver is for CUDA %d.%d, but this program requires CUDA %d.0 or later: update the driver",
			driver / 1000, driver % 1000 / 10, runtime / 1000);
	return dfg_cuda_error(provider->api.cudaGetDeviceCount(out_count), "counting the devices");
}

struct dfg_err *dfg_device_check(const struct dfg_device_provider *provider, int index)
{
	int count = 0;
	DFG_TRY(dfg_device_count(provider, &count));
	if (index >= 0 && index < count)
		return NULL;
	if (count == 1)
		return DFG_ERR(DFG_CONFIG, "there is no device cuda:%d: this machine has only cuda:0", index);
	return DFG_ERR(DFG_CONFIG, "there is no device cuda:%d: this machine has cuda:0 to cuda:%d", index, count - 1);
}

const char *dfg_device_verified(void)
{
	return "kernels not yet run on a device";
}

struct dfg_err *dfg_cuda_error(cudaError_t error, const char *what)
{
	static const struct {
		cudaError_t error;
		enum dfg_code code;
		const char *text, *name;
	} known[] = {
#define CUDA_ERROR(name, number, code, text) {number, DFG_##code, text, #name},
#include "lib/exec/device/errors.def"
#undef CUDA_ERROR
	};
	if (!error)
		return NULL;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].error == error)
			return DFG_ERR(known[i].code, "%s: %s (%s)", what, known[i].text, known[i].name);
	return DFG_ERR(DFG_BUG, "%s: CUDA error %d", what, (int)error);
}
