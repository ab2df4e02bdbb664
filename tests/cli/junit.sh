# dfg test --junit FILE: results that a parser of XML reads, whatever characters are in names and messages.
. "$ROOT/tests/cli/kit"
mkdir cases
cat >cases/a.t <<'END'
Neg([1, -2]) = [-1, 2]
Neg([1]) = [<]
StringLower(["a<&\"'>"]) = ["a<&\"'>"]
Neg([3]) = [3]
END
printf 'Neg([1]) = [2] # \001\033[31m\n' >"cases/<b>.t"
status 1 "$DFG" test --junit out.xml cases
tail -1 out | grep -q '^2 passed, 3 failed$' || { cat out; exit 1; }
python3 - <<'END'
import xml.etree.ElementTree as tree
suite = tree.parse("out.xml").getroot().find("testsuite")
cases = suite.findall("testcase")
assert suite.get("tests") == "5" and suite.get("failures") == "3" and len(cases) == 5, suite.attrib
names = [(c.get("classname"), c.get("name")) for c in cases]
assert ("cases/a.t", "StringLower([\"a<&\\\"'>\"]) = [\"a<&\\\"'>\"]") in names, names
assert any(group == "cases/<b>.t" and "\\x1b" in name for group, name in names), names
failed = [c for c in cases if c.find("failure") is not None]
assert len(failed) == 3 and all(c.find("failure").get("message") for c in failed)
assert all(float(c.get("time")) >= 0 for c in cases)
END
# A file that cannot be written is said before the first case.
status 73 "$DFG" test --junit nowhere/out.xml cases
has err nowhere
