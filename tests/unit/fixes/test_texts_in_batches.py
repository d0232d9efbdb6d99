"""Texts that go through a network all at once: of a pipeline, an encoder, or what a tokenizer made of them."""

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.proposals import propose

MODEL = (
    "import torch\nfrom transformers import AutoModel, AutoTokenizer, pipeline\n"
    "from sentence_transformers import SentenceTransformer\npipe = pipeline('ner')\n"
    "encoder = SentenceTransformer('a')\ntok = AutoTokenizer.from_pretrained('a')\n"
    "net = AutoModel.from_pretrained('a')"
)


def proposed(source):
    return {one.id: one for one in propose(Case(MODEL, source, growth="jump").death())}


@pytest.mark.parametrize("call", ["pipe(texts, batch_size={})", "encoder.encode(texts, batch_size={})"])
def test_a_large_batch_of_texts_is_made_smaller(call):
    (edit,) = proposed("found = " + call.format(2048))["reduce-batch-size"].edits
    assert edit.new_source == "found = " + call.format(128)


def test_a_tokenizer_trains_nothing():
    assert "reduce-batch-size" not in proposed("ids = tok.encode(texts, batch_size=2048)")


def test_texts_that_were_tokenized_together_are_tokenized_in_parts():
    enc = "enc = tok(texts, padding=True, return_tensors='pt')\n"
    found = proposed(enc + "with torch.no_grad():\n    out = net(**enc)")["batched-inference"]
    assert "tok(texts[start:start + 32]" in found.snippet
    loop = (
        "for texts in parts:\n    enc = tok(texts, return_tensors='pt')\n    with torch.no_grad():\n        net(**enc)"
    )
    assert "batched-inference" not in proposed(loop)
