# Weights beside a graph, and what is refused of them.
. "$ROOT/tests/cli/kit"
cat >net.dfg <<'.'
input x: f32[2, 4]
w = f32([[1, 2], [3, 4], [5, 6], [7, 8]])
output y = x @ w
.
"$DFG" build net.dfg -o whole.pb
status 0 "$DFG" convert whole.pb -o net.pb --external-data 16
status 0 "$DFG" show net.pb.safetensors
has out 'f32[4,2]'

# Read again it is the same graph, and computes the same.
"$DFG" convert net.pb | cmp - whole.pb
status 0 "$DFG" convert whole.pb -o again.pbtxt --external-data 1K
[ ! -e again.pbtxt.safetensors ] || exit 1
status 0 "$DFG" convert whole.pb -o text.pbtxt --external-data 0
"$DFG" convert text.pbtxt | cmp - whole.pb
"$DFG" run whole.pb --feed x=f32[2,4]:1,2,3,4,5,6,7,8 --fetch y >want
"$DFG" run net.pb --feed x=f32[2,4]:1,2,3,4,5,6,7,8 --fetch y | cmp - want
mkdir away
cp net.pb net.pb.safetensors away/
"$DFG" -C away check net.pb
"$DFG" convert away/net.pb | cmp - whole.pb

# --if-changed leaves both; a directory may not be shared by what is not there.
touch -d 2001-01-01 net.pb net.pb.safetensors
status 0 "$DFG" convert whole.pb -o net.pb --external-data 16 --if-changed
[ net.pb -ot whole.pb ] && [ net.pb.safetensors -ot whole.pb ] || exit 1
status 2 "$DFG" convert whole.pb --external-data 16
status 2 "$DFG" convert whole.pb -o x.pb --external-data many
status 65 sh -c '"$0" check - <net.pb' "$DFG"
has err 'which stdin does not have'

# Data that is missing, another's, a link, or outside.
rm away/net.pb.safetensors
status 66 "$DFG" check away/net.pb
has err 'away/net.pb.safetensors'
ln -s ../net.pb.safetensors away/net.pb.safetensors
status 65 "$DFG" check away/net.pb
has err 'symbolic link'
rm away/net.pb.safetensors
ln net.pb.safetensors away/
status 65 "$DFG" check away/net.pb
has err 'hard links'
rm away/net.pb.safetensors
sed 's/7, 8/7, 9/' net.dfg >other.dfg
"$DFG" build other.dfg -o away/other.pb --external-data 16
mv away/other.pb.safetensors away/net.pb.safetensors
status 65 "$DFG" check away/net.pb
has err 'the checksum differs'
head -c 100 net.pb.safetensors >away/net.pb.safetensors
status 65 "$DFG" check away/net.pb
rm away/net.pb.safetensors
mkfifo away/net.pb.safetensors
status 65 "$DFG" check away/net.pb
has err 'regular file'
for place in ../net.pb.safetensors /etc/passwd . .. '' x/net.pb.safetensors; do
	sed "s|text.pbtxt.safetensors|$place|" text.pbtxt >bad.pbtxt
	status 65 "$DFG" check bad.pbtxt
	has err 'must be in a file in'
done
sed 's/size: 4/size: 8/' text.pbtxt >bad.pbtxt
status 65 "$DFG" check bad.pbtxt
sed 's/"crc32"/"crc33"/' text.pbtxt >bad.pbtxt
status 65 "$DFG" check bad.pbtxt
has err "attribute 'crc32' is "
