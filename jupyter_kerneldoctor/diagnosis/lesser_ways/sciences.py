"""Files of the sciences: pictures of the sky, maps, cells, clouds of points, sequences, packets."""

from ..case import Case
from ..code.literals import number
from ..code.notebook import Call
from ..death import Death
from .conditions import given, is_made_by, not_seen, without
from .way import LesserWay

_COARSE = 8


def _of_fine_cells(call: Call, _death: Death) -> bool:
    """Whether the cells may be smaller than those that are proposed."""
    resolution = call.argument("res", 1)
    return resolution is None or (number(resolution) or _COARSE + 1) > _COARSE


WAYS = (
    LesserWay(
        ("astropy.io.fits.getdata", "astropy.io.fits.open"),
        "Read a part of the picture: section, memmap",
        "reads all of the picture where it is compressed, scaled or asked for whole.",
        "from astropy.io import fits\n\n"
        "with fits.open({a0}, memmap=True) as file:\n"
        "    part = file[0].section[0:1000, 0:1000]  # only these rows and columns are read",
    ),
    LesserWay(
        (".ReadAsArray",),
        "Read a window, or a coarser picture",
        "reads all bands in full.",
        "part = {owner}.ReadAsArray(0, 0, 4096, 4096)  # a window: from column, row; columns, rows\n"
        "small = {owner}.ReadAsArray(buf_xsize=2000, buf_ysize=2000)  # or the whole, coarser",
        Case("from osgeo import gdal\nd = gdal.Open('a.tif')", "a = d.ReadAsArray()"),
        lambda call, _death: not call.node.args and not call.node.keywords,
        silent=("a = d.ReadAsArray(0, 0, 512, 512)",),
    ),
    LesserWay(
        ("scanpy.read_h5ad", "anndata.read_h5ad"),
        "Leave the counts in their file: backed='r'",
        "reads the counts of all cells.",
        "{to} = {function}({a0}, backed='r')  # rows are read as they are asked for\n"
        "few = {to}[{to}.obs['n_genes'] > 500].to_memory()  # then only the cells you need",
        fits=not_seen("backed", 1),
    ),
    LesserWay(
        ("laspy.read",),
        "Take some points at a time, or fewer of them",
        "reads all points, with all that is known of each.",
        "import laspy\n\nwith laspy.open({a0}) as file:\n    for points in file.chunk_iterator(1_000_000):\n"
        "        xyz = np.stack([points.x, points.y, points.z], axis=1)[::10]  # every tenth point\n"
        "        ...  # keep what you need of them",
    ),
    LesserWay(
        ("obspy.read",),
        "Read some hours only: starttime, endtime",
        "reads the whole recording.",
        "begin = obspy.UTCDateTime('2024-01-01')  # your first hour\n"
        "{to} = obspy.read({a0}, starttime=begin, endtime=begin + 3600)  # an hour; headonly=True shows what there is",
        fits=without("starttime", "headonly"),
        silent=("st = obspy.read('a.mseed', starttime=t, endtime=t + 9)",),
    ),
    LesserWay(
        ("mne.io.read_raw_edf", "mne.io.read_raw_fif", "mne.io.read_raw_bdf"),
        "Read some minutes and channels only, at a lower rate: preload=False, crop",
        "reads the whole recording as numbers of eight bytes with `preload=True`.",
        "{to} = {function}({a0}, preload=False).crop(0, 600)  # ten minutes\n"
        "{to}.pick(['EEG 001']).load_data().resample(100)  # with your channels",
        Case("import mne", "raw = mne.io.read_raw_fif('a.fif', preload=True)"),
        given(True, "preload"),
        silent=("raw = mne.io.read_raw_fif('a.fif')",),
    ),
    LesserWay(
        ("SimpleITK.ReadImage", "SimpleITK.GetArrayFromImage"),
        "Read some slices only, as they are stored",
        "unpacks the whole volume.",
        "import SimpleITK as sitk\n\n"
        "reader = sitk.ImageFileReader()\nreader.SetFileName(path)\nreader.ReadImageInformation()\n"
        "reader.SetExtractSize((*reader.GetSize()[:2], 10))  # ten slices\n"
        "part = sitk.GetArrayViewFromImage(reader.Execute())",
    ),
    LesserWay(
        ("scapy.all.rdpcap", "scapy.utils.rdpcap", "pyshark.FileCapture"),
        "Take one packet after the other: PcapReader",
        "keeps an object of each packet, many times its size.",
        "from scapy.all import PcapReader\n\nwith PcapReader({a0}) as packets:\n    for packet in packets:\n"
        "        ...  # count it, or keep the fields that you need; pyshark: FileCapture(path, keep_packets=False)",
    ),
    LesserWay(
        ("Bio.SeqIO.to_dict",),
        "Look sequences up in their file: SeqIO.index",
        "keeps all sequences, each as an object.",
        "from Bio import SeqIO\n\n"
        "{to} = SeqIO.index('sequences.fasta', 'fasta')  # reads a sequence when it is asked for\n"
        "for record in SeqIO.parse('sequences.fasta', 'fasta'):  # or one after the other\n    ...",
    ),
    LesserWay(
        ("h3.polygon_to_cells", "h3.geo_to_cells"),
        "Take a coarser resolution: each step has a seventh of the cells",
        "makes a text for each cell: seven times as many with each step.",
        "cells = {function}({a0}, 8)  # a cell of 0.7 km²; 15 has cells of one square metre\n"
        "cells = h3.compact_cells(cells)  # and one cell in place of seven that fill it",
        Case("import h3", "c = h3.polygon_to_cells(area, 15)"),
        _of_fine_cells,
        silent=("c = h3.polygon_to_cells(area, 6)",),
    ),
    LesserWay(
        (".dissolve", ".unary_union", ".union_all", ".buffer"),
        "Make the shapes simpler, and join one group at a time",
        "makes new shapes with the corners of all of them.",
        "simple = {table}.assign(geometry={table}.geometry.simplify(10))  # in units of the map: far fewer corners\n"
        "for key, part in simple.groupby('region'):\n    shape = part.geometry.union_all()  # one group at a time",
        Case("import geopandas as gpd\ng = gpd.read_file('a')", "d = g.dissolve(by='k')"),
        is_made_by("geopandas.read_file", "geopandas.GeoDataFrame", "geopandas.read_parquet"),
    ),
)
