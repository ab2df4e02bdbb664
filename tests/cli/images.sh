# Images in files, by libpng and libjpeg: recorded cases of TensorFlow's, files that are cut or lie about their size.
. "$ROOT/tests/cli/kit"

# Without the libraries: 78, with the package.
mkdir none
for name in libpng16.so.16 libjpeg.so.62; do
	echo 'not a library' >"none/$name"
done
printf 'output y = EncodePng(u8([[[1]]]))\n' >png.dfg
printf 'output y = EncodeJpeg(u8([[[1]]]))\n' >jpeg.dfg
status 78 env LD_LIBRARY_PATH="$PWD/none" "$DFG" run png.dfg --fetch y
has err "cannot open libpng16.so.16 (Debian's package libpng16-16)"
status 78 env LD_LIBRARY_PATH="$PWD/none" "$DFG" run jpeg.dfg --fetch y
has err "cannot open libjpeg.so.62 (Debian's package libjpeg62-turbo)"
for format in png jpeg; do
	if ! "$DFG" run $format.dfg --fetch y >/dev/null 2>err; then
		grep -q 'cannot open lib' err || { cat err; exit 1; }
		echo "libpng or libjpeg is not installed"
		exit 77
	fi
done
status 0 "$DFG" test "$ROOT/tests/images"
has out '8 passed, 0 failed'

# Headers of images that the files are too short for; python3 writes them, and a file that is cut.
python3 - <<'END'
import struct, zlib
def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
def png(height, width):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 9)) + chunk(b"IEND", b"")
open("huge.png", "wb").write(png(2**31 - 1, 2**31 - 1))
open("large.png", "wb").write(png(20000, 20000))
open("good.png", "wb").write(png(3, 2))
open("cut.png", "wb").write(png(3, 2)[:50])
frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, 20000, 20000, 1) + b"\1\x11\0"
scan = b"\xff\xda" + struct.pack(">HB", 8, 1) + b"\1\0\0\x3f\0"
open("large.jpg", "wb").write(b"\xff\xd8" + frame + scan)
END
printf 'input name: string[]\noutput y = DecodePng(ReadFile(name))\n' >read.dfg
for file in huge.png large.png cut.png large.jpg; do
	status 65 "$DFG" run read.dfg --feed "name=$file" --fetch y
	has err "(DecodePng): "
done
status 65 "$DFG" run read.dfg --feed name=large.png --fetch y
has err '20000 x 20000 pixels, which are too many'
status 65 "$DFG" run read.dfg --feed name=large.jpg --fetch y
has err '20000 x 20000 pixels, which are too many'
status 0 "$DFG" run read.dfg --feed name=good.png --fetch y
has out '[3,2,1]'
