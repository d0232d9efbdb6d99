"""Agents, searches and the libraries around training: what is kept of all steps, trials and made-up rows."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import plain_names
from ..code.literals import number
from ..code.notebook import Call
from ..code.origins import Origins
from ..code.scopes import Scope
from ..death import Death
from .conditions import both, is_made_by, made, without
from .way import LesserWay, called_object, names

_PACKAGES, _AGENTS = ("stable_baselines3", "sb3_contrib"), ("DQN", "SAC", "TD3", "DDPG", "QRDQN", "TQC")
_OFF_POLICY = tuple(f"{package}.{name}" for package in _PACKAGES for name in _AGENTS)
_FEW_STEPS = 50_000
_BINS = {
    "xgboost": "{to} = xgboost.QuantileDMatrix(X32, label=y, max_bin=256)  # a byte for a value: tree_method='hist'",
    "lightgbm": "{to} = lightgbm.Dataset(X32, y, params={{'max_bin': 63}}, free_raw_data=True)  # a byte for a value",
    "catboost": "{to} = catboost.Pool(X32, y)  # numbers as an array of float32: a table is copied once more\n"
    "{to}.quantize(border_count=64)  # a byte for a value",
}
_MOST_CALLERS = 6
_IN_STEPS = ("IntegratedGradients", "LayerIntegratedGradients", "LayerConductance", "InternalInfluence")
_MAKES_ROWS = (
    *("SMOTE", "SMOTENC", "SMOTEN", "BorderlineSMOTE", "KMeansSMOTE", "SVMSMOTE", "ADASYN", "RandomOverSampler"),
    *("SMOTEENN", "SMOTETomek"),
)


def _remembers_many(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether an agent has room for more steps than are proposed, as it has where no number is given."""

    def is_large(maker: Call, _death: Death) -> bool:
        size = maker.argument("buffer_size", 3)
        return size is None or (number(size) or _FEW_STEPS + 1) > _FEW_STEPS

    for agent in _AGENTS:
        is_made = any(made(one, agent, told=is_large)(call, death) for one in _PACKAGES)
        if is_made or (call.name in _OFF_POLICY and call.name.endswith(f".{agent}") and is_large(call, death)):
            return {"agent": agent}
    return False


def _predicts_in_a_loop(call: Call, death: Death) -> bool:
    """Whether Keras predicts in each round of a loop, so that what a call leaves behind adds up."""
    of_keras = any(map(death.code.imports, ("keras", "tensorflow")))
    return of_keras and death.growth.goes_on and death.growth.container is None and _is_in_a_loop(call.node, call.scope)


def _acts_in_a_loop(call: Call, death: Death) -> bool:
    """Whether Keras predicts in each round of a loop, or in a function that one calls: `action = act(state)`."""
    callers = [(call.node, call.scope)]
    for node, scope in callers:  # it grows meanwhile
        if _is_in_a_loop(node, scope):
            return _predicts_in_a_loop(Call(node, scope, call.name), death)
        if scope.function and len(callers) < _MOST_CALLERS:
            callers += [one for one in Origins(death.code).calls_of(scope) if one[1] is not scope]
    return False


def _is_in_a_loop(node: ast.Call, scope: Scope) -> bool:
    return any(not isinstance(one, ast.AsyncFor) for one in scope.loops_around(node))


def _fits_in_a_loop(call: Call, death: Death) -> bool:
    """Whether Keras fits the same model in each round of a loop, to other rows."""
    loops = {part for loop in call.scope.loops_around(call.node) for part in call.scope.inside(loop)}
    given = [one for one in call.node.args[:1] if isinstance(one, ast.Name)]
    owner = next(iter(plain_names(called_object(call))), "")
    bound = {one.id for one in loops if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    is_new = owner in bound - {"self"}
    return bool(given) and given[0].id in bound and not is_new and _predicts_in_a_loop(call, death)


WAYS = (
    LesserWay(
        (".learn", *_OFF_POLICY),
        "Let the agent remember fewer steps: buffer_size",
        "has room for a million steps, with two observations each, which fills as it learns.",
        "model = {agent}('CnnPolicy', env, buffer_size=50_000)  # frames of 84 x 84 x 4 bytes: 56 KB a step\n"
        "# optimize_memory_usage=True keeps each observation once: with\n"
        "# replay_buffer_kwargs={{'handle_timeout_termination': False}}",
        Case("from stable_baselines3 import DQN\nmodel = DQN('CnnPolicy', env)", "model.learn(1_000_000)"),
        _remembers_many,
        silent=(
            Case("from stable_baselines3 import DQN\nm = DQN('CnnPolicy', env, buffer_size=9000)", "m.learn(10**6)"),
        ),
    ),
    LesserWay(
        (".optimize",),
        "Keep no model of a trial: free it, and write the best to a file",
        "goes through the trials, of which each leaves something behind.",
        "def objective(trial):\n    model = train(trial)\n    score = evaluate(model)\n"
        "    torch.save(model.state_dict(), f'trial-{{trial.number}}.pt')  # not trial.set_user_attr('model', model)\n"
        "    return float(score)  # a number, no tensor\n\n"
        "{owner}.optimize(objective, n_trials=100, gc_after_trial=True)",
        Case("import optuna\nstudy = optuna.create_study()", "study.optimize(objective, n_trials=500)"),
        is_made_by("optuna.create_study", "optuna.load_study"),
    ),
    LesserWay(
        (".attribute",),
        "Explain some rows at a time, in parts: internal_batch_size",
        "takes each row through the network once for each step, all at once.",
        "parts = [{owner}.attribute(part, n_steps=50, internal_batch_size=16)  # with your other arguments\n"
        "         for part in {of0}.split(8)]  # a target or baseline for each row is split alike\n"
        "{to} = torch.cat(parts)",
        Case(
            "import torch\nfrom captum.attr import IntegratedGradients\nig = IntegratedGradients(net)",
            "a = ig.attribute(x, target=1, n_steps=500)",
        ),
        both(made("captum", *_IN_STEPS), without("internal_batch_size")),
        silent=(
            Case("import torch\nfrom captum.attr import Saliency\ns = Saliency(net)", "a = s.attribute(x, target=1)"),
        ),
    ),
    LesserWay(
        (".fit_resample",),
        "Give the rare class more weight: no rows made up for it",
        "makes as many rows of the rare class as the common one has, beside all that there are.",
        "from sklearn.ensemble import HistGradientBoostingClassifier\n\n"
        "model = HistGradientBoostingClassifier(class_weight='balanced')  # no new rows\n\n"
        "from imblearn.over_sampling import SMOTE\n\n"
        "sampler = SMOTE(sampling_strategy=0.2)  # or a few, where it has less than a fifth of the common one's rows\n"
        "X_more, y_more = sampler.fit_resample({of0}[::5], {of1}[::5])  # of every fifth row, and two classes",
        Case("from imblearn.over_sampling import SMOTE\nsm = SMOTE()", "X2, y2 = sm.fit_resample(X, y)"),
        made("imblearn", *_MAKES_ROWS, parts=True),
        silent=(
            Case(
                "from imblearn.under_sampling import RandomUnderSampler\nr = RandomUnderSampler()",
                "X2, y2 = r.fit_resample(X, y)",
            ),
        ),
    ),
    LesserWay(
        ("torch_geometric.utils.to_dense_adj",),
        "Keep only the edges: a sparse matrix",
        "has a number for each pair of nodes, nearly all of them zero.",
        "A = torch.sparse_coo_tensor({a0}, torch.ones({of0}.shape[1]), (n, n))  # only the edges; n: the nodes\n"
        "product = torch.sparse.mm(A, x)",
    ),
    LesserWay(
        ("xgboost.DMatrix", "xgboost.QuantileDMatrix", "lightgbm.Dataset", "catboost.Pool"),
        "Give it float32, and bins in place of all values",
        "copies the whole table in a form of its own, beside the table.",
        "X32 = {of0}.astype('float32')  # half of float64, where all columns are numbers; then: del {a0}\n{made}",
        fits=lambda call, _death: {"made": _BINS[call.name.partition(".")[0]].format(**names(call))},
    ),
    LesserWay(
        (".fit",),
        "Train on one batch in each round: train_on_batch, not fit",
        "makes a data set, callbacks and a history in each round of the loop, and leaves something behind.",
        "states, targets = [], []  # in the loop, in place of fit: states.append({a0}), targets.append({a1})\n"
        "{owner}.train_on_batch(np.concatenate(states), np.concatenate(targets))  # behind it: one batch\n\n"
        "values = {owner}(np.concatenate(states), training=False).numpy()  # in place of predict, one call for all\n\n"
        "if episode % 50 == 0:  # where it still grows\n"
        "    {owner}.save('agent.keras')\n    keras.backend.clear_session()\n"
        "    {owner} = keras.models.load_model('agent.keras')",
        Case("import keras\nnet = keras.Sequential()", "for x, y in steps:\n    net.fit(x, y, verbose=0)", line=2),
        _fits_in_a_loop,
        silent=(Case("import keras", "for n in ns:\n    net = build(n)\n    net.fit(x, y)", line=3),),
    ),
    LesserWay(
        (".predict",),
        "Call the model itself in a loop: model(x)",
        "is made for many rows at once, and leaves something behind in each round of a loop.",
        "out = {owner}({a0}, training=False).numpy()  # one call for each round\n\n"
        "outs = {owner}.predict(np.concatenate(inputs), batch_size=64)  # or one call for all, outside of the loop",
        Case("import keras\nnet = keras.Sequential()", "for x in xs:\n    y = net.predict(x)\n    act(y)", line=2),
        _acts_in_a_loop,
    ),
)
