"""Models of languages, sounds and pictures that were trained before: what they give beside the answer."""

import ast

from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..code.origins import all_origins
from ..code.stores import stores
from ..death import Death
from .conditions import both, given, is_made_by, is_written, made, without
from .way import LesserWay

_TRANSFORMERS = "from transformers import AutoModel\nm = AutoModel.from_pretrained('a')"
_LANGUAGE = "from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained('a')"
_MANY_ROWS = 20_000  # of a batch, where a thousand is usual
_PIPELINE = "from transformers import pipeline\n"


def _asks_for_layers(call: Call, death: Death) -> bool:
    """Whether a model, or the call of it, is asked for what all of its layers give."""
    asked = [given(True, one) for one in ("output_hidden_states", "output_attentions")]
    if any(one(call, death) for one in asked):
        return bool(made("transformers")(call, death))
    return any(made("transformers", "from_pretrained", told=one)(call, death) for one in asked)


def _keeps_scores(call: Call, death: Death) -> bool | dict[str, str]:
    """Name the scores that are asked for, of each round, in the call or in the `GenerationConfig` that it is given."""
    is_kept = any(one.statement is call.statement for one in stores([call.scope]))
    if not is_kept or not call.scope.loops_around(call.node) or not death.code.imports("transformers"):
        return False
    given = call.argument("generation_config")
    made = all_origins(given, call.scope, death.code) if given is not None else []
    configs = [one for one, _ in made if isinstance(one, ast.Call) and last_name(one.func) == "GenerationConfig"]
    for word in (word for one in (call.node, *configs) for word in one.keywords):
        if word.arg in _SCORES and is_written(word.value, True):
            return {"scores": word.arg.removeprefix("output_"), "asked": word.arg}
    return False


def _is_written(call: Call, death: Death) -> bool:
    """Whether a data set has a file of its own: one that is streamed has none."""
    return not made("datasets", told=given(True, "streaming"))(call, death)


def _in_one_batch(call: Call, death: Death) -> bool:
    """Whether a data set of Hugging Face is mapped as a whole, or nearly: `batch_size=None`, `batch_size=100_000`."""
    given = call.argument("batch_size")
    is_whole = isinstance(given, ast.Constant) and given.value in (None, -1)
    is_large = given is not None and (death.values.number(given, call.scope) or 0) >= _MANY_ROWS
    return death.code.imports("datasets") and (is_whole or is_large)


_SCORES = ("output_scores", "output_logits")

WAYS = (
    LesserWay(
        (".generate",),
        "Keep a number for each token, not the scores of all words: compute_transition_scores",
        "gives a number for each word of the vocabulary, for each new token, and all of it is kept in each round.",
        "out = {owner}.generate({a0}, ...)  # with your other arguments\n"
        "sure = {owner}.compute_transition_scores(out.sequences, out.{scores}, normalize_logits=True)\n"
        "# of several beams: compute_transition_scores(out.sequences, out.{scores}, out.beam_indices, ...)\n"
        "kept.append((out.sequences.cpu(), sure.mean(1).cpu()))  # not `out`; without {asked} there are no scores",
        Case(
            _LANGUAGE,
            "replies = []\nfor ids in mails:\n"
            "    replies.append(m.generate(ids, return_dict_in_generate=True, output_scores=True))",
            says=("m.compute_transition_scores(out.sequences, out.scores", "without output_scores"),
        ),
        _keeps_scores,
        silent=("kept = []\nfor ids in mails:\n    kept.append(m.generate(ids, output_scores=False))",),
    ),
    LesserWay(
        (".()",),
        "Listen to half a minute at a time: chunk_length_s=30",
        "works on the whole recording at once where no `chunk_length_s` is given.",
        "{to} = {owner}({a0}, chunk_length_s=30, batch_size=4)  # pieces of 30 seconds, joined again",
        Case(_PIPELINE + "asr = pipeline('automatic-speech-recognition')", "t = asr('talk.wav')"),
        both(
            without("chunk_length_s"),
            made(
                "transformers",
                "pipeline",
                told=both(without("chunk_length_s"), given("automatic-speech-recognition", "task", 0)),
            ),
        ),
        silent=(
            Case(
                _PIPELINE + "asr = pipeline('automatic-speech-recognition', chunk_length_s=30)", "t = asr('talk.wav')"
            ),
        ),
    ),
    LesserWay(
        (".()",),
        "Ask for the last layer only: no output_hidden_states, no output_attentions",
        "gives what every layer makes: `output_hidden_states` a vector of each word in each layer, "
        "`output_attentions` a number for each pair of words in each head.",
        "with torch.no_grad():  # batch: without labels\n"
        "    out = {owner}.base_model(**batch, output_hidden_states=False, output_attentions=False)\n"
        "vectors = out.last_hidden_state[:, 0].clone()  # of each text; of another layer: keep that one alone",
        Case(_TRANSFORMERS, "out = m(**batch, output_hidden_states=True)"),
        _asks_for_layers,
        silent=("out = m(**batch)",),
    ),
    LesserWay(
        (".encode",),
        "Encode some texts at a time, and keep one vector of each as float16",
        "keeps a vector for each word of each text with `output_value='token_embeddings'`.",
        "{to} = {owner}.encode({a0}, batch_size=32).astype('float16')  # one vector for each text",
        Case(
            "from sentence_transformers import SentenceTransformer\nm = SentenceTransformer('a')",
            "v = m.encode(texts, output_value='token_embeddings')",
        ),
        both(given("token_embeddings", "output_value"), made("sentence_transformers")),
    ),
    LesserWay(
        (".()",),
        "Make one picture at a time",
        "works on all pictures of `num_images_per_prompt` at once.",
        "{owner}.vae.enable_tiling()  # a large picture is decoded in parts\n"
        "pictures = [{owner}({a0}).images[0] for _ in range(4)]  # one at a time",
        Case(
            "from diffusers import StableDiffusionPipeline\np = StableDiffusionPipeline.from_pretrained('a')",
            "out = p('a cat', num_images_per_prompt=8)",
        ),
        lambda call, death: call.argument("num_images_per_prompt") is not None and made("diffusers")(call, death),
    ),
    LesserWay(
        ("datasets.Dataset.from_list", "datasets.Dataset.from_dict"),
        "Hand the rows over one by one, into a file: Dataset.from_generator",
        "makes a second copy of all rows, in memory, beside the Python objects.",
        "from datasets import Dataset\n\ndef rows():\n"
        "    for row in source:  # read where it is needed, not from a list\n"
        "        yield {{'text': row}}\n\n{to} = Dataset.from_generator(rows)  # kept in a file",
    ),
    LesserWay(
        ("datasets.load_dataset", "datasets.load_from_disk", ".map", ".filter", ".sort"),
        "Leave the data set in its file: keep_in_memory=False",
        "copies the whole data set into memory with `keep_in_memory=True`.",
        "{to} = {function}({a0}, keep_in_memory=False)  # with your other arguments: it is read as it is used",
        Case("import datasets", "ds = datasets.load_dataset('a', keep_in_memory=True)"),
        both(given(True, "keep_in_memory"), lambda _call, death: death.code.imports("datasets")),
        silent=("ds = datasets.load_dataset('a')",),
    ),
    LesserWay(
        (".map",),
        "Write the rows sooner: writer_batch_size=50",
        "keeps a thousand rows of its result in memory before it writes them; with pictures or sounds that is much.",
        "ds = {owner}.map({a0}, writer_batch_size=50)  # with your other arguments; batched: batch_size=50, too",
        Case("import datasets\nds = datasets.load_dataset('a')", "ds = ds.map(spectrum)"),
        both(made("datasets"), without("writer_batch_size", "batch_size"), _is_written),
        silent=(
            "ds = ds.map(f, writer_batch_size=50)",
            Case("import datasets\nds = datasets.load_dataset('a', streaming=True)", "ds = ds.map(f)"),
        ),
    ),
    LesserWay(
        (".map",),
        "Map a thousand rows at a time: batch_size=1000",
        "takes very many rows as one batch, with what the function makes of them.",
        "ds = {owner}.map({a0}, batched=True, batch_size=1000)  # its file is written as it comes\n\n"
        "from transformers import DataCollatorWithPadding\n\n"
        "collate = DataCollatorWithPadding(tokenizer)  # pads each batch, in place of padding='max_length'",
        Case("import datasets\nds = datasets.load_dataset('a')", "ds = ds.map(encode, batched=True, batch_size=None)"),
        _in_one_batch,
        silent=(
            Case("import datasets\nds = datasets.load_dataset('a')", "ds = ds.map(f, batched=True, batch_size=2000)"),
        ),
    ),
    LesserWay(
        (".to_pandas", ".to_dict", ".to_list"),
        "Take some rows of the data set at a time",
        "makes Python objects or a table of all rows, which the data set keeps in a file.",
        "for start in range(0, len({owner}), 10_000):\n    part = {owner}[start:start + 10_000]  # a dict of columns\n"
        "    ...  # what you need of it; ds.select_columns([...]) leaves the other columns out",
        Case("import datasets\nds = datasets.load_dataset('a', split='train')", "df = ds.to_pandas()"),
        is_made_by(*(f"datasets.{name}" for name in ("load_dataset", "load_from_disk", "Dataset.from_dict"))),
    ),
    LesserWay(
        (".add",),
        "Keep the vectors as bytes, in groups: index_factory('IVF1024,SQ8')",
        "keeps all vectors in full: four bytes for each number.",
        "import faiss\n\n{owner} = faiss.index_factory({of0}.shape[1], 'IVF1024,SQ8')  # a byte for each number\n"
        "# inner products: a third argument, faiss.METRIC_INNER_PRODUCT\n"
        "{owner}.train({of0}[::20])  # some 40,000 rows at least, or fewer groups than 1024\n"
        "for at in range(0, len({a0}), 100_000):\n    {owner}.add({of0}[at : at + 100_000])\n"
        "{owner}.nprobe = 32  # groups that a search looks into: more find more of the nearest",
        Case("import faiss\ni = faiss.IndexFlatL2(768)", "i.add(X)"),
        made("faiss", "IndexFlatL2", "IndexFlatIP", "IndexHNSWFlat"),
    ),
)
