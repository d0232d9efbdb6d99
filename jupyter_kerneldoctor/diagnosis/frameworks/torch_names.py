"""Names of PyTorch: which of its functions, methods and attributes give numbers, tensors or networks."""

import re

PLAIN_METHODS = frozenset(
    {"item", "tolist", "numpy", "size", "dim", "backward", "numel", "data_ptr", "stride", "is_contiguous", "get_device"}
)
CUT_METHODS = frozenset(
    {"detach", "argmax", "argmin", "argsort", "long", "int", "bool", "eq", "ne", "gt", "lt", "detach_"}
    | {"multinomial", "nonzero", "bincount", "bucketize", "searchsorted", "isnan", "isfinite", "sample"}
)
"""What they give has no graph: they end it, or give indices, counts, truths and what a distribution draws."""
MODULE_METHODS = frozenset(
    {"to", "cuda", "cpu", "train", "eval", "half", "float", "double", "bfloat16", "requires_grad_"}
)
PLAIN_ATTRIBUTES = frozenset({"shape", "dtype", "device", "data", "grad", "ndim", "requires_grad", "is_leaf"})
MODULE_CLASSES = ("torch.nn.Module", "torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict")
MODULE_MAKERS = ("torch.hub.load", "torch.compile", "torchvision.models.", "timm.create_model")
SAME_AS_GIVEN = ("copy.deepcopy", "copy.copy", "builtins.sum")
NO_NETWORK = re.compile("Tokenizer|Processor|Config|Extractor")
MAKES_NETWORK = re.compile("^from_(pretrained|config)$|(Model|For[A-Z][A-Za-z]{1,60})$")
"""Of transformers: `AutoModel.from_pretrained`, `BertModel`, `GPT2ForSequenceClassification`."""
NO_TENSOR = (
    *("torch.optim.", "torch.utils.", "torch.cuda.", "torch.distributed.", "torch.backends.", "torch.manual_seed"),
)
REDUCTIONS = frozenset({"mean", "sum", "norm", "nansum", "nanmean", "max", "min", "logsumexp"})
GIVE_INDICES = ("max", "min", "topk", "sort", "mode", "median", "kthvalue", "cummax", "cummin")
"""Besides the values, which come first."""
