# Devices: the provider that is found, refused or asked, and what doctor says of it.
. "$ROOT/tests/cli/kit"
export DFG_CUDA="$(dirname "$DFG")/dfg-cuda-standin.so"
export DFG_STANDIN=devices=2,memory=256M

"$DFG" doctor --quick >out || test $? = 1
grep '^devices' out >line
has line 'stand-in: 2, cuda:0 is stand-in with 256 MiB; kernels not yet run on a device'
never grep -q -- ' -- ' line

# A setting that does not exist, a library that is not a provider, a driver that is too old, no device.
DFG_STANDIN=colour=3 "$DFG" doctor --quick >out || test $? = 1
grep '^devices' out >line
has line "DFG_STANDIN has 'colour=3', expected devices=N"
DFG_CUDA=libz.so.1 "$DFG" doctor --quick >out || test $? = 1
grep '^devices' out >line
has line 'cannot open the provider of CUDA devices that DFG_CUDA names'
DFG_STANDIN=driver=12040 "$DFG" doctor --quick >out || test $? = 1
grep '^devices' out >line
has line 'the NVIDIA driver is for CUDA 12.4, but this program requires CUDA 13.0 or later: update the driver'
DFG_STANDIN=devices=0 "$DFG" doctor --quick >out || test $? = 1
grep '^devices' out >line
has line 'no device (cudaErrorNoDevice)'

# The build is the hash in the library: a copy with another one is refused before anything else of it is used.
build=$(sed -n 's/.*DFG_DEVICE_BUILD "\(.*\)"/\1/p' "$(dirname "$DFG")/device_build.h")
other=$(echo "$build" | tr 0-9a-f 1-9a-f0)
sed "s/$build/$other/g" "$DFG_CUDA" >other.so
DFG_CUDA=./other.so "$DFG" doctor --quick >out || test $? = 1
grep '^devices' out >line
has line "other.so is build $other, but this program requires build $build"

# Without a provider nothing is opened, and nothing is wrong.
unset DFG_CUDA DFG_STANDIN
cp "$DFG" ./dfg
./dfg doctor --quick >out || test $? = 1
grep '^devices' out >line
test "$(tr -s ' ' <line)" = 'devices none'
