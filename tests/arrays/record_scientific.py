"""Records the NetCDF and HDF5 files of this directory, each with an npz of the same values: python3 record_scientific.py

h5py 3.16, netCDF4 1.7 and NumPy 2. The tests know what is in them.
"""
import h5py
import netCDF4
import numpy as np

CLASSIC = {"i8": "i1", "i16": "i2", "i32": "i4", "f32": "f4", "f64": "f8"}
WIDE = {"u8": "u1", "u16": "u2", "u32": "u4", "i64": "i8", "u64": "u8"}


def ramp(shape, dtype, first=0):
    values = np.arange(first, first + int(np.prod(shape))).reshape(shape)
    return (values / 4 if dtype[0] == "f" else values % 100).astype(dtype)


def netcdf(name, form, types, records=3):
    arrays = {}
    with netCDF4.Dataset(name + ".nc", "w", format=form) as file:
        file.title = "odd length"
        file.createDimension("time", None)
        file.createDimension("row", 2)
        file.createDimension("column", 3)
        for i, (word, dtype) in enumerate(types.items()):
            for kind, dims in (("fixed", ("row", "column")), ("record", ("time", "column")), ("scalar", ())):
                shape = tuple({"time": records, "row": 2, "column": 3}[d] for d in dims)
                variable = file.createVariable(f"{kind}_{word}", dtype, dims)
                variable.set_auto_maskandscale(False)
                arrays[f"{kind}_{word}"] = variable[...] = ramp(shape, dtype, i)
        text = file.createVariable("text", "S1", ("time", "row"))
        arrays["text"] = text[...] = np.array([list("ab"), list("c "), ["d", b""]][:records], "S1").reshape(records, 2)
        scaled = file.createVariable("scaled", "i2", ("row",))
        scaled.scale_factor, scaled.add_offset = 0.5, 10.0
        scaled.set_auto_maskandscale(False)
        arrays["scaled"] = scaled[...] = np.array([1, 2], "i2")
    np.savez_compressed(name + ".npz", **arrays)


netcdf("classic", "NETCDF3_CLASSIC", CLASSIC)
netcdf("offset64", "NETCDF3_64BIT_OFFSET", CLASSIC)
netcdf("data64", "NETCDF3_64BIT_DATA", CLASSIC | WIDE)
netcdf("no-records", "NETCDF3_CLASSIC", {"i16": "i2"}, 0)
netcdf("netcdf4", "NETCDF4", CLASSIC | WIDE)

# One record variable, whose slabs of six bytes are not padded; and the same with an unknown number of records.
with netCDF4.Dataset("unpadded.nc", "w", format="NETCDF3_CLASSIC") as file:
    file.createDimension("time", None)
    file.createDimension("column", 3)
    file.createVariable("x", "i2", ("time", "column"))[:] = ramp((4, 3), "i2")
np.savez_compressed("unpadded.npz", x=ramp((4, 3), "i2"))
data = bytearray(open("unpadded.nc", "rb").read())
data[4:8] = b"\xff" * 4
open("streamed.nc", "wb").write(data)

# Every dtype and kind of storage of HDF5.
arrays = {}
with h5py.File("types.h5", "w", libver="earliest") as file:
    def put(name, values, **options):
        arrays[name] = np.array(values)
        file.create_dataset(name, data=values, **options)

    for word, dtype in (CLASSIC | WIDE | {"f16": "f2"}).items():
        put(f"little/{word}", ramp((2, 3), "<" + dtype))
        file.create_dataset(f"big/{word}", data=ramp((2, 3), ">" + dtype))
        arrays[f"big/{word}"] = ramp((2, 3), "<" + dtype)
    put("bool", np.array([True, False, True]))
    put("c64", np.array([1 + 2j, 3 - 4j], "c8"))
    put("c128", np.array([[1 + 2j], [3 - 4j]], "c16"))
    file.create_dataset("big/c64", data=np.array([1 + 2j, 3 - 4j], ">c8"))
    arrays["big/c64"] = np.array([1 + 2j, 3 - 4j], "<c8")
    put("scalar", np.float64(0.1))
    put("empty", np.zeros((0, 3), "f4"))
    put("fixed_text", np.array([b"a", b"bcd", b""], "S3"))
    file.create_dataset("text", data=["one", "", "drei \u00e4"], dtype=h5py.string_dtype())
    arrays["text"] = np.array([s.encode() for s in ["one", "", "drei \u00e4"]])
    rows = ramp((50, 7), "f4")
    put("storage/contiguous", rows)
    put("storage/chunked", rows, chunks=(8, 3))
    put("storage/deflated", rows, chunks=(8, 7), compression="gzip", shuffle=True, fletcher32=True)
    put("storage/resizable", rows, chunks=(3, 7), maxshape=(None, 7))
    part = file.create_dataset("storage/partly", (50, 7), "f4", chunks=(8, 7), fillvalue=-1)
    part[8:16] = rows[8:16]
    arrays["storage/partly"] = part[...]
    file["link"] = h5py.SoftLink("/storage/chunked")
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((2, 3))
    h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F32LE, space, compact).write(
        h5py.h5s.ALL, h5py.h5s.ALL, ramp((2, 3), "f4"))
    arrays["compact"] = ramp((2, 3), "f4")
np.savez_compressed("types.npz", **arrays)

# The newer form of groups and indices of chunks.
rows = ramp((50, 7), "f4")
with h5py.File("latest.h5", "w", libver=("v110", "v110")) as file:
    for i, options in enumerate([{}, {"chunks": (8, 7)}, {"chunks": (8, 3), "maxshape": (None, None)}, {
            "chunks": (8, 7), "maxshape": (None, 7), "compression": "gzip"}]):
        file.create_dataset(f"group/{i}", data=rows, **options)
np.savez_compressed("latest.npz", **{f"group/{i}": rows for i in range(4)})

# Things that dfg does not read, by name.
with h5py.File("refused.h5", "w") as file:
    file["structured"] = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])
    file["null"] = h5py.Empty("f4")
    file["elsewhere"] = h5py.ExternalLink("types.h5", "/bool")
    file["dangling"] = h5py.SoftLink("/none")
    file["dates"] = np.array(["2020"], "M8[D]").view("V8")
    file["one/loop"] = h5py.SoftLink("/one")
    file["two"] = file["one"]
    file["one/self"] = file["one"]
    layout = h5py.VirtualLayout((3,), "?")
    layout[:] = h5py.VirtualSource("types.h5", "bool", (3,))
    file.create_virtual_dataset("virtual", layout)
    file.create_dataset("outside", (3,), "?", external=[("types.h5", 0, 3)])
    file.create_dataset("bomb", (1 << 40,), "u1", chunks=(1 << 31,))
    file.create_dataset("wide", (2, 1 << 40), "u1", chunks=(1, 1 << 20))

# The samples of tests/cli/data.sh.
i = np.arange(100)
x = np.stack([((i * 389 + 17) % 1024 - 512) / 1024, ((i * 611 + 5) % 1024 - 512) / 1024], 1).astype("f4")
t = (3 * x[:, :1] - x[:, 1:] + 1).astype("f4")
with h5py.File("line.h5", "w") as file:
    file.create_dataset("data/x", data=x.astype(">f4"), chunks=(7, 2), compression="gzip")
    file["data/t"] = t
for name, form in (("line-classic", "NETCDF3_CLASSIC"), ("line-netcdf4", "NETCDF4")):
    with netCDF4.Dataset(name + ".nc", "w", format=form) as file:
        file.createDimension("sample", None)
        file.createDimension("number", 2)
        file.createDimension("one", 1)
        file.createVariable("x", "f4", ("sample", "number"), zlib=form == "NETCDF4")[:] = x
        file.createVariable("t", "f4", ("sample", "one"))[:] = t
