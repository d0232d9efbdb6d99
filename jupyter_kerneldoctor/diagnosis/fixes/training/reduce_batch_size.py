from ...case import Ran
from ...edits import EditRefusedError
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals
from ...frameworks.training import find_batch_size
from ...frameworks.whole_batch import find_whole_batch, snippet, split
from ...sizing import Batch, batch_to_blame
from ...units import plural
from ...workers import workers_bytes

_RUN = "for x in DataLoader(d, config['batch_size']): net(x).mean().backward()"
_WHOLE = "import torch\nX = torch.randn(9000, 3)\ny = torch.randn(9000)\nmodel = torch.nn.Linear(3, 1)"

_ARGS = (
    "import argparse\nimport torch\ndef get_args(argv=None):\n    p = argparse.ArgumentParser()\n"
    "    p.add_argument('--batch-size', type=int, default={})\n    args = p.parse_args(argv)\n    return args\n"
)
_ARGS_RUN = (
    "for x in torch.utils.data.DataLoader(d, batch_size=args.batch_size):\n"
    "    opt.zero_grad()\n    net(x).mean().backward()"
)


class ReduceBatchSize(Fix):
    """Use a smaller batch.

    What it does: Training keeps the intermediate results of every sample of a batch until the backward pass is through,
    so memory grows in step with the batch size. The edit writes a smaller number where the batch size is defined. Where
    the whole data set goes through the network as one batch, it puts a loop over pieces around the step.

    When it is offered: Memory ran out in a cell that trains a network (or runs one over data), the cell began well
    below the limit, and a batch size that the loop uses is written in a cell. Not when the loop keeps something of
    every step, so that memory grows however small a batch is, or the pipeline shuffles a hundred batches and more in
    memory.

    After two runs of the cell at other batch sizes the number is computed. A killed run gives only an upper bound, as
    it died before the step was finished: the edit then begins at an eighth of it.

    What it costs: More and smaller steps: the course of the training and BatchNorm's statistics change, and the
    learning rate may need to be adapted. The edit leaves that as it is. Gradient accumulation keeps the effective
    batch.
    """

    id, title, causes = "reduce-batch-size", "Use a smaller batch size", OUT_OF_MEMORY
    unless_offered = frozenset({"prediction-like-target", "scores-of-distances", "empty-after-yield"})

    FIRES = [
        Case(
            "from torch.utils.data import DataLoader\nBATCH_SIZE = 1024  # größer",
            "loader = DataLoader(data, batch_size=BATCH_SIZE)\ntest = DataLoader(data, batch_size=4096)",
            "for x, y in loader:\n    loss = (model(x) - y).square().mean()\n    loss.backward()",
            becomes={"1024": "64"},
            says=("At most 878", "64", "then 32", "16 steps"),
        ),
        Case(
            "from tensorflow import keras\nmodel = keras.Sequential()",
            "%%time\nmodel.fit(x, y, batch_size=2048, verbose=0)",
            becomes="%%time\nmodel.fit(x, y, batch_size=128, verbose=0)",
        ),
        Case(
            "from tensorflow import keras\nmodel = keras.Sequential()\nclass Keep(keras.callbacks.Callback):\n"
            "    def on_train_batch_end(self, batch, logs=None):\n        self.losses.append(logs['loss'])",
            "model.fit(x, y, batch_size=2048, callbacks=[Keep()])",
            becomes="model.fit(x, y, batch_size=128, callbacks=[Keep()])",
        ),
        Case(  # the options of a script
            _ARGS.format(1024) + "args = get_args([])", _ARGS_RUN, becomes={"1024": "64"}
        ),
        Case(  # numbers that are kept take no memory
            "import torch\nlog = []\ndef loader(batch_size, n=10**4):\n    yield torch.rand(batch_size, 9)",
            "for i, x in enumerate(loader(2**13)):\n    net(x).mean().backward()\n    log.append((i, loss.item()))",
            becomes={"2**13": "512"},
        ),
        Case(
            "from torch.utils.data import DataLoader\nconfig = {'batch_size': 64}",
            Ran(_RUN, 200, 500),
            "config = {'batch_size': 128}",
            Ran(_RUN, 200, 700),
            "config = {'batch_size': 1024}",
            _RUN,
            becomes={5: "config = {'batch_size': 256}"},
            says=("64 and 128",),
        ),
        Case(
            _WHOLE,
            "for epoch in range(9):\n    opt.zero_grad()\n    loss = crit(model(X), y)\n    loss.backward()\n"
            "    opt.step()\n    print(loss)",
            becomes="for epoch in range(9):\n    for start in range(0, len(X), 256):\n        opt.zero_grad()\n"
            "        loss = crit(model(X[start:start + 256]), y[start:start + 256])\n        loss.backward()\n"
            "        opt.step()\n    print(loss)",
            says=("36 steps",),
        ),
        Case(  # all rows in another order
            _WHOLE,
            "for epoch in range(9):\n    perm = torch.randperm(9000)\n    opt.zero_grad()\n"
            "    loss = crit(model(X[perm]), y[perm])\n    loss.backward()\n    opt.step()",
            becomes="for epoch in range(9):\n    perm = torch.randperm(9000)\n"
            "    for start in range(0, len(perm), 64):\n        opt.zero_grad()\n"
            "        loss = crit(model(X[perm[start:start + 64]]), y[perm[start:start + 64]])\n"
            "        loss.backward()\n        opt.step()",
        ),
        Case(
            "import tensorflow as tf\nB = 512\ndef batches():\n    while True:\n        yield load(B)",
            "def make(): return tf.keras.Sequential()\nmodel = make()\nds = tf.data.Dataset.range(9)",
            "model.fit(ds.shuffle(99).batch(4096), steps_per_epoch=9)",
            becomes={"4096": "256"},
        ),
        Case(  # loops of one's own with a tape
            "import tensorflow as tf\nBATCH_SIZE = 512\nds = tf.data.Dataset.from_tensor_slices(x).batch(BATCH_SIZE)",
            "for x in ds:\n    with tf.GradientTape() as tape:\n        loss = loss_of(model(x))\n"
            "    opt.apply_gradients(zip(tape.gradient(loss, w), w))",
            growth="jump",
            becomes={"512": "32"},
        ),
        Case(  # the accuracy would be that of the last piece
            _WHOLE,
            "for epoch in range(9):\n    out = model(X)\n    acc = (out.argmax(1) == y).float().mean()\n"
            "    loss = crit(out, y)\n    loss.backward()\n    opt.step()\n    print(acc)",
            says=("X_part",),
        ),
        Case(  # it is the evaluation's batch that is large
            "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('o', eval_strategy='epoch', "
            "per_device_train_batch_size=8, per_device_eval_batch_size=1024)",
            "trainer = Trainer(m, args)\ntrainer.train()",
            becomes={"1024": "64"},
        ),
        Case(  # a dict in a dict
            "import torch\nconfig = {'train': {'loader': {'batch_size': 256}}}",
            "for x in torch.utils.data.DataLoader(ds, **config['train']['loader']):\n    net(x).mean().backward()",
            becomes={"256": "16"},
        ),
        Case(  # a batch of few rows may not get far enough below the bound: it is said, and not edited
            "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(9, 9), torch.nn.BatchNorm1d(9))\nbatch_size = 8",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    net(x).mean().backward()",
            says=("batch_size = 2", "At most 6"),
        ),
        Case(  # the rows and their labels
            "import torch",
            "for x, y in zip(X.split(64), Y.split(64)):\n    crit(net(x), y).backward()",
            becomes="for x, y in zip(X.split(4), Y.split(4)):\n    crit(net(x), y).backward()",
        ),
        Case(  # the targets are used twice, all of them: only a person can cut them
            "import torch\nX = torch.randn(9000, 3)\ny = torch.randn(9000)\nmodel = torch.nn.Linear(3, 1)",
            "for epoch in range(9):\n    p = model(X).squeeze()\n    a, b = p - p.mean(), y - y.mean()\n"
            "    loss = -(a * b).sum()\n    opt.zero_grad()\n    loss.backward()\n    opt.step()",
            says=("X_part = X[start:start + ",),
        ),
    ]
    SILENT = [
        Case(  # rounds of small batches: each round leaves something
            "from tensorflow import keras\nmodel = keras.Sequential()",
            "for part in parts:\n    model.fit(part, batch_size=32)\n    scores = model.predict(X)",
            line=2,
        ),
        Case(  # all that is predicted
            "from tensorflow import keras\nmodel = keras.Sequential()",
            "maps = model.predict(X, batch_size=512)",
        ),
        Case(  # what the optimizer keeps of a table fills the memory
            "import torch\nnet = torch.nn.Embedding(3_000_000, 64)\nopt = torch.optim.Adam(net.parameters())\n"
            "loader = torch.utils.data.DataLoader(ds, batch_size=256)",
            "for x in loader:\n    net(x).mean().backward()\n    opt.step()",
            growth="jump",
            line=2,
        ),
        Case(
            "import torch\nloader = torch.utils.data.DataLoader(ds, batch_size=512)",
            "for x, y in loader: crit(net(x.view(512, -1)), y).backward()",
        ),
        Case("import torch\nbs = 2", "while fits(bs):\n    net(torch.ones(bs, 9)).mean().backward()\n    bs *= 2"),
        # the option is given: its default does not count
        Case(_ARGS.format(1024) + "args = get_args(['--batch-size', '4'])", _ARGS_RUN),
        # the house was full before: no batch size helps
        Case(
            "import torch",
            "for x in torch.utils.data.DataLoader(d, 64):\n    net(x).mean().backward()",
            before_mib=1900,
        ),
        # it is the buffer that takes the memory
        Case(
            "from tensorflow import keras\nmodel = keras.Sequential()\nN = 20_000",
            "batch_size = 32\nmodel.fit(data.shuffle(N).batch(batch_size))",
        ),
        Case(
            "import tensorflow as tf\nmodel = tf.keras.Sequential()\ndata = tf.data.Dataset.range(9000).map(load)",
            "model.fit(data.batch(32).shuffle(1000))",
        ),
        # it is the cache
        Case(
            "import tensorflow as tf\nmodel = tf.keras.Sequential()\ndata = tf.data.Dataset.range(9000).map(load)",
            "model.fit(data.cache().batch(32))",
        ),
        # a database is read in batches, nothing is trained
        Case("batch_size = 1000", "for rows in query(batch_size):\n    all_rows += rows"),
        # the losses are kept with their graphs
        Case(
            "import torch\nmodel = torch.nn.Linear(9, 9)\nlosses = []\nbatch_size = 64",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    loss = model(x).mean()\n"
            "    loss.backward(retain_graph=True)\n    losses.append(loss)",
        ),
        # what the network gives is kept of every step
        Case(
            "import torch\nmodel = torch.nn.Linear(9, 9)\nseen = []\nbatch_size = 64",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    out = model(x)\n    out.mean().backward()\n"
            "    seen.append(out.detach().cpu())",
        ),
        # a hook keeps what goes through the network
        Case(
            "import torch\nseen = []\nmodel = torch.nn.Linear(9, 9)\nbatch_size = 64\n"
            "model.register_forward_hook(keep := lambda *given: seen.append(given))",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    model(x).mean().backward()",
        ),
        # the network keeps what goes through it, and the data set what it has read
        Case(
            "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        self.seen.append(x)\n"
            "        return x\nbatch_size = 64",
            "net = Net()\nfor x in torch.utils.data.DataLoader(d, batch_size):\n    net(x).mean().backward()",
        ),
        Case(
            "import torch\nclass D(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n"
            "        self.cache[i] = read(i)\n        return self.cache[i]\nbatch_size = 64",
            "for x in torch.utils.data.DataLoader(D(), batch_size):\n    net(x).mean().backward()",
        ),
        Case(
            "import torch\nclass D(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n"
            "        self.cache[i] = read(i).float() / 255\n        return self.cache[i]",
            "loader = torch.utils.data.DataLoader(D(), batch_size=64)",
            "for x in loader:\n    net(x).mean().backward()",
        ),
        # Keras calls the callback
        Case(
            "from tensorflow import keras\nmodel = keras.Sequential()\nclass Keep(keras.callbacks.Callback):\n"
            "    def on_train_batch_end(self, batch, logs=None):\n        self.seen.append(self.model.get_weights())",
            "model.fit(x, y, batch_size=64, callbacks=[Keep()])",
        ),
        # Lightning calls the step
        Case(
            "import torch, lightning as L\nclass Lit(L.LightningModule):\n    def training_step(self, batch, i):\n"
            "        out = self.net(batch)\n        self.seen.append(out)\n        return out.mean()",
            "L.Trainer().fit(Lit(), torch.utils.data.DataLoader(ds, batch_size=64))",
        ),
        # the hook is an object that keeps things, and the state of a recurrent network its graph
        Case(
            "import torch\nclass Probe:\n    def __call__(self, module, given, out):\n        self.seen.append(out)",
            "probe, batch_size = Probe(), 64\nmodel.register_forward_hook(probe)",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    model(x).mean().backward()",
        ),
        Case(
            "import torch\nrnn = torch.nn.GRU(9, 9)\nbatch_size = 64",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    out, h = rnn(x, h)\n"
            "    out.mean().backward(retain_graph=True)",
        ),
        # the batches of the training are not those of the evaluation
        Case(
            "from transformers import Trainer, TrainingArguments\n"
            "trainer = Trainer(m, TrainingArguments('out', per_device_train_batch_size=64))",
            "trainer.evaluate()",
        ),
        Case("import torch\nbs = 64", "for x in xs.split(bs): net(x).mean().backward()", cause="killed-externally"),
    ]

    def propose(self, death: Death) -> Proposals:
        batch = batch_to_blame(death)
        if batch is None:
            return
        choice, written, missing = batch.choice, batch.written, death.memory.missing_bytes
        if choice.is_early or (workers_bytes(death) or 0) > (missing or 0) // 2:  # rounds or workers come first
            missing = (missing or 0) // 2
        if written is None:
            yield from _in_pieces(death, batch)
        else:
            where = death.code.cell_name(written.scope.cell)
            more = f" One step becomes {written.value // choice.value} steps. The number is written in {where}."
            title = f"{self.title}: {choice.value} in place of {written.value}"
            edits = written.becomes(choice.value) if choice.may_well_fit else ()
            snippet = None if edits else f"{written.label} = {choice.value}  # smaller pictures or a smaller network"
            yield Proposal(edits, batch.reason + more, missing, title, snippet, peak=choice.peak)

    def is_cured(self, before: Death, after: Death) -> bool:
        """A smaller number is still a number: what matters is that the loop uses it."""
        old, new = find_batch_size(before.code), find_batch_size(after.code)
        return (
            new is None
            or (old is not None and new.value < old.value)
            or find_whole_batch(after.code, after.values) is None
        )


def _in_pieces(death: Death, batch: Batch) -> Proposals:
    whole, size = batch.whole, batch.choice.value
    if whole is None:
        return
    steps = "many steps" if whole.rows is None else f"{-(-whole.rows // size)} steps"
    why = f"{batch.reason} A round then takes {steps} in place of one. The loss after it is that of the last piece."
    title = f"Use a smaller batch: {plural(size, 'row')} of {whole.names[0]} at a time"
    try:
        yield Proposal(split(whole, size), why, death.memory.missing_bytes, title)
    except EditRefusedError:
        yield Proposal((), why, death.memory.missing_bytes, title, snippet(whole, size))
