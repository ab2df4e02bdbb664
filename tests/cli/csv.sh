# Tables with names, counts, text and missing values, as data and as results (finding 17).
. "$ROOT/tests/cli/kit"

cat >iris.csv <<'.'
4,4,setosa,versicolor,virginica
5.5,3.5,1.25,0.25,0
4.5,3.0,1.5,0.25,0
7.0,3.25,4.75,1.5,1
6.25,3.5,6.0,2.5,2
.
cat >people.csv <<'.'
name,age,height,grade
ann,30,1.5,1
bob,,1.75,2
cid,50,NA,3
.
cat >p.dfg <<'.'
input x: f64[?,4]
input kind: f32[?,1]
input label: i32[?]
output y = x * 2
output k = kind
output l = label + 1
.
status 0 "$DFG" run p.dfg --data x=@iris.csv[0:4] --data kind=@iris.csv[4] --data label=@iris.csv[4] --batch 3 -o out.csv
cat >want <<'.'
y_0,y_1,y_2,y_3,k,l
11,7,2.5,0.5,0,1
9,6,3,0.5,0,1
14,6.5,9.5,3,1,2
12.5,7,12,5,2,3
.
cmp out.csv want
status 0 "$DFG" run p.dfg --data x=@out.csv[y_0,y_1,y_2,y_3] --fetch y -o y.csv
[ "$(head -2 y.csv)" = "y_0,y_1,y_2,y_3
22,14,5,1" ]
status 65 "$DFG" run p.dfg --data x=@iris.csv --fetch y
has err "iris.csv holds samples of f64[?,5], but 'x' is f64[?,4]"
status 65 "$DFG" run p.dfg --data label=@iris.csv[0] --fetch l
has err "iris.csv[0] holds samples of f64[?], but 'label' is i32[?]: row 0, column 0 is 5.5, which i32 cannot hold exactly"
status 65 "$DFG" run p.dfg --data x=@iris.csv[0:9] --fetch y
has err "'0:9' is not a range of the 5 columns, which are 0 to 4"

cat >q.dfg <<'.'
input age: f64[?]
input grade: f32[3]
output a = age
output g = grade
.
status 0 "$DFG" run q.dfg --feed age=@people.csv[age] --feed grade=@people.csv[grade]
has out '30 nan 50'
has out 'g: f32[3]'
status 65 "$DFG" run p.dfg --feed label=@people.csv[age] --fetch l
has err "people.csv[age] is f64[3], but the tensor is i32[?]: row 1, column 0 has no value: it is nan, which i32 cannot hold"
status 65 "$DFG" run q.dfg --data age=@people.csv --fetch a
has err "line 2: 'ann' in column 'name' is not a number: FILE[COLUMN,...] chooses columns, such as [age,height,grade]"
status 65 "$DFG" run q.dfg --data age=@people.csv[agee] --fetch a
has err "no column 'agee'; did you mean 'age'?"

# A worker reads them in the same way.
status 0 "$DFG" run p.dfg --hosts local:2 --place label=w1 --data label=w1:@iris.csv[4] --fetch l
[ "$(tail -1 out)" = "1 1 2 3" ]

# All columns of a table.
status 0 "$DFG" convert people.csv -o people.npz
status 0 "$DFG" diff people.npz people.csv
status 0 "$DFG" show people.csv
has out 'age    f64[3]'
has out 'name   string[3]'
status 2 "$DFG" run p.dfg --save w.csv --feed x=zeros:f64[1,4] --fetch y

# One array of a file is converted and compared as it is shown; a cell that is not a number is named.
printf 'a,b\n1,2\n3,x\n' >mixed.csv
status 0 "$DFG" convert 'mixed.csv[a]' -o a.npy
status 0 "$DFG" diff a.npy 'mixed.csv[a]'
status 1 "$DFG" diff 'mixed.csv[b]' a.npy
status 65 "$DFG" convert 'mixed.csv[c]' -o c.npy
has err "mixed.csv: no column 'c'; did you mean 'a'?"
status 65 "$DFG" run q.dfg --feed age=@mixed.csv[b] --feed grade=@mixed.csv[b]
has err "mixed.csv[b] is string[2], but the tensor is f64[?]: row 1, column 0 is 'x', which is not a number for f64"
