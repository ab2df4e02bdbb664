# HDF5 and NetCDF-4, by libhdf5: the values and weights of npy. tests/arrays/record_scientific.py recorded the files.
. "$ROOT/tests/cli/kit"
a=$ROOT/tests/arrays

# Without the library: 78, with the package; classic NetCDF does not need it.
mkdir none
for name in libhdf5_serial.so.103 libhdf5_serial.so.310; do
	echo 'not a library' >"none/$name"
done
status 78 env LD_LIBRARY_PATH="$PWD/none" "$DFG" show "$a/types.h5"
has err "types.h5: cannot open libhdf5_serial.so.103 (Debian's package libhdf5-103)"
status 0 env LD_LIBRARY_PATH="$PWD/none" "$DFG" show "$a/classic.nc"
if ! "$DFG" show "$a/types.h5" >/dev/null 2>err; then
	grep -q 'cannot open libhdf5' err || { cat err; exit 1; }
	echo "libhdf5 is not installed"
	exit 77
fi

# Every dtype and storage, against npz of the same values.
for file in types.h5 latest.h5 netcdf4.nc; do
	status 0 "$DFG" diff "$a/$file" "$a/${file%.*}.npz"
	status 0 "$DFG" convert "$a/$file" -o "${file%.*}.npz"
	status 0 "$DFG" diff "${file%.*}.npz" "$a/${file%.*}.npz"
done
status 0 "$DFG" show "$a/types.h5[/little/f16]"
has out 'f16[2,3]'
status 0 "$DFG" show "$a/types.h5" --node text
has out '"drei ä"'
status 0 "$DFG" show "$a/types.h5[link]" # a link within the file
has out 'f32[50,7]'
status 0 "$DFG" show "$a/latest.h5"
has out 'group/3 f32[50,7]'
never grep -q min out
status 0 "$DFG" show "$a/line.h5" --head 1
[ "$(tr '\n' ' ' <out)" = 'data/t: f32[1,1] 0.044921875 data/x: f32[1,2] -0.48339844 -0.4951172 ' ]

# A few rows of every storage, in order and shuffled, with a short batch at the end.
printf 'input x: f32[?,7]\noutput y = x * 2\n' >rows.dfg
status 0 "$DFG" run rows.dfg --data "x=@$a/types.npz[storage/contiguous]" --batch 9 -o want.npy
for name in storage/contiguous storage/chunked /storage/deflated storage/resizable link; do
	status 0 "$DFG" run rows.dfg --data "x=@$a/types.h5[$name]" --batch 9 -o got.npy
	cmp got.npy want.npy
done
printf 'input x: string[?]\noutput y = x\n' >text.dfg
for name in text fixed_text; do
	status 0 "$DFG" run text.dfg --data "x=@$a/types.h5[$name]" --batch 2 -o got.npy
	status 0 "$DFG" run text.dfg --feed "x=@$a/types.npz[$name]" -o want.npy
	cmp got.npy want.npy
done
cat >line.dfg <<'END'
input x: f32[n, 2]
input t: f32[n, 1]
param w: f32[2, 1] = zeros
param b: f32[] = zeros
output loss = mean((x @ w + b - t) ** 2)
END
status 0 "$DFG" grad line.dfg --loss loss --optimizer 'momentum(lr=0.05)' -o line.pb
train() { # FILE X T NAME OPTIONS
	file=$1 x=$2 t=$3 name=$4
	shift 4
	status 0 "$DFG" run line.pb --batch 16 --target train --fetch loss --data "x=@${file}[$x]" --data "t=@${file}[$t]" \
		--metrics "$name.jsonl" --save "$name.npz" "$@"
}
for options in '--epochs 3' '--epochs 3 --drop-last --shuffle 7' '--epochs 2 --no-shuffle' '--shards 3'; do
	# shellcheck disable=SC2086
	{
		train "$a/line-classic.nc" x t want $options
		train "$a/line.h5" /data/x /data/t got $options
		cmp want.npz got.npz
		cmp want.jsonl got.jsonl
		train "$a/line-netcdf4.nc" x t got $options
		cmp want.npz got.npz
		cmp want.jsonl got.jsonl
	}
done
train "$a/line-classic.nc" x t want --epochs 2
status 0 "$DFG" run line.pb --batch 16 --target train --fetch loss --hosts local:2 --epochs 2 --metrics got.jsonl --save got.npz \
	--data "x=w1:@$a/line.h5[data/x]" --data "t=w0:@$a/line.h5[data/t]"
cmp want.npz got.npz

# Each kind of dataset that is refused is named: elements in other files, sizes that the file only declares, types without
# a dtype.
while IFS='|' read -r name words; do
	status 65 "$DFG" show "$a/refused.h5[$name]"
	has err "refused.h5: $words"
done <<'END'
structured|structured: its elements are structures of 8 bytes, which dfg cannot read
null|null: is an empty dataset, which has no shape
elsewhere|elsewhere: is a link to an object that is not in this file
dangling|dangling: is a link to an object that is not in this file
dates|dates: its elements are opaque data of 8 bytes, which dfg cannot read
one|one: is a group, not a dataset
one/self|one/self: is a group, not a dataset
virtual|virtual: its elements are in other files, which dfg does not follow
outside|outside: its elements are in other files, which dfg does not follow
bomb|bomb: a chunk of u8[2147483648] takes 2147483648 bytes of memory, but
wide|wide: a row of u8[1,1099511627776] takes 1099511627776 bytes of memory, but
none|no array 'none'
virtua|no array 'virtua'; did you mean 'virtual'?
END
status 0 "$DFG" show "$a/refused.h5" # which has a group that contains itself
has out 'structured no dtype[2]'
# show --node reads only the array that it prints.
status 65 "$DFG" show "$a/refused.h5" --node dates
has err 'refused.h5: dates: its elements are opaque data'
status 65 "$DFG" convert "$a/refused.h5" -o out.npz
has err 'refused.h5: bomb: a chunk of u8[2147483648] takes'
status 65 "$DFG" run rows.dfg --data "x=@$a/types.h5"
has err 'types.h5: holds '
status 65 "$DFG" run rows.dfg --data "x=@$a/types.h5[storage]"
has err "storage: is a group, not a dataset"
for size in 9 100 2000 20000; do
	head -c "$size" "$a/types.h5" >cut.h5
	status 65 timeout 20 "$DFG" convert cut.h5 -o out.npz
	has err 'cut.h5: cannot open: libhdf5: '
done
# libhdf5 1.10 aborts on this one. Other versions may not.
python3 - "$a/refused.h5" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at, byte in {2204: 251, 6234: 28}.items():
    data[at] = byte
open("bent.h5", "wb").write(data)
END
tried=0
timeout 20 "$DFG" show bent.h5 >out 2>err || tried=$?
case $tried in
0) ;;
65) has err 'bent.h5: ' ;;
*) echo "status $tried"; exit 1 ;;
esac
gzip -c "$a/types.h5" >packed.h5.gz
status 65 "$DFG" show packed.h5.gz
has err 'packed.h5.gz: an HDF5 file must be a regular file'
status 2 "$DFG" convert "$a/types.npz" -o out.h5
has err 'out.h5: hdf5 is a format that dfg only reads'
