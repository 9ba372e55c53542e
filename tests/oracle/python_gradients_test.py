#!/usr/bin/env python3
"""Compares gradients under torch.compile(backend="tangram") with eager runs: transforms of torch.func and autograd
inside of compiled functions and around them, and backward() of their outputs, with gradients on, off, and in inference
mode.

    tests/oracle/python_gradients_test.py [--tg build/tg]

A gradient must be right, unless eager PyTorch also rejects it. Requires the installed package (`./dev test --oracle
--full` installs it) and PyTorch; otherwise the test is skipped.
"""
import unittest
import warnings

from python_package import SEARCH, run_tests, tangram, torch  # skips this test if packages are missing

import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from torch.utils.checkpoint import checkpoint

MODES = {"gradients": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}


class Cube(torch.autograd.Function):
    """A function whose gradient is not its derivative, to detect which of the two is used."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 7 * x


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def scalar(x):
    return (x ** 3).sum() + (x.sin() * x).sum()


def vector(x):
    return torch.stack((x[0] * x[1], x.exp().sum(), (x @ x).tanh()))


def of_autograd(x):
    y = x.detach().requires_grad_()
    return torch.autograd.grad(scalar(y), y)[0]


def of_backward(x):
    y = x.detach().clone().requires_grad_()
    scalar(y).backward()
    return y.grad


def twice(x):
    y = x.detach().clone().requires_grad_()
    first, = torch.autograd.grad(scalar(y), y, create_graph=True)
    return torch.autograd.grad((first ** 2).sum(), y)[0]


def hooked(x):
    y = x.clone()
    if y.requires_grad:
        y.register_hook(lambda g: g * 3)
    return scalar(y)


def of_module(x):
    module = NETWORK
    values = {name: one.detach() for name, one in module.named_parameters()}
    return grad(lambda given: functional_call(module, given, (x,)).pow(2).sum())(values)


def penalised(x):
    y = x.detach().clone().requires_grad_()
    slope, = torch.autograd.grad(NETWORK(y).sum(), y, create_graph=True)
    return slope.norm() + NETWORK(y).sum()


def mixed(x):
    with torch.no_grad():
        held = (x ** 2).sum()
    with torch.enable_grad():
        return scalar(x) * held


def a_step(x):
    """Returns a step of gradient descent and the value."""
    slope, value = grad_and_value(scalar)(x)
    return x - 0.1 * slope, value


NETWORK = network()

#: Functions of a vector of 3 elements; each is compiled as a whole.
INSIDE = {
    "grad": grad(scalar), "grad_and_value": grad_and_value(scalar), "vjp": lambda x: vjp(vector, x)[1](x * 2),
    "vjp value": lambda x: vjp(vector, x)[0], "jvp": lambda x: jvp(vector, (x,), (x * 2,)), "jacrev": jacrev(vector),
    "jacfwd": jacfwd(vector), "hessian": hessian(scalar), "grad of grad": grad(lambda x: grad(scalar)(x).pow(2).sum()),
    "vmap of grad": lambda x: vmap(grad(scalar))(torch.stack((x, 2 * x))), "vmap of jacrev": lambda x: vmap(jacrev(vector))(x.repeat(2, 1)),
    "jacrev of vmap": jacrev(lambda x: vmap(torch.sin)(x)), "has_aux": grad(lambda x: (scalar(x), x * 2), has_aux=True),
    "argnums": lambda x: grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x + 1), "dict": lambda x: grad(lambda d: scalar(d["x"]))({"x": x}),
    "linearize": lambda x: linearize(vector, x)[1](x), "part without": grad(lambda x: (x * x.detach()).sum()),
    "constant": grad(lambda x: (x * 0 + 1).sum()), "in place": grad(lambda x: x.clone().mul_(x).sum()),
    "no_grad within": grad(lambda x: mixed(x)), "custom": grad(lambda x: Cube.apply(x).sum()),
    "checkpoint": grad(lambda x: checkpoint(scalar, x, use_reentrant=False)), "autograd.grad": of_autograd, "backward": of_backward, "twice": twice,
    "module": of_module, "penalty": penalised, "a step": a_step, "a network": lambda x: jacrev(lambda y: NETWORK(y))(x),
    "conv": grad(lambda x: F.conv1d(x.reshape(1, 1, 3), x.reshape(1, 1, 3), padding=1).pow(2).sum()),
    "softmax": jacrev(lambda x: x.softmax(0)), "norm": grad(lambda x: F.layer_norm(x, (3,)).pow(3).sum()),
    "loss": grad(lambda x: F.cross_entropy(x[None], torch.tensor([1]))), "sort": grad(lambda x: (x.sort().values * torch.arange(3)).sum()),
    "index": grad(lambda x: x[[0, 0, 2]].pow(2).sum()), "attention": grad(lambda x: F.scaled_dot_product_attention(*[x.reshape(1, 1, 3, 1)] * 3).pow(2).sum()),
    "only a value": scalar, "values": vector, "hook": hooked, "grad mode": mixed,
    "requires_grad_": lambda x: (x * 2).detach().requires_grad_() * 3, "set_grad_enabled": lambda x: (torch.set_grad_enabled(True), x * 2, torch.set_grad_enabled(False))[1],
    "detached": lambda x: scalar(x).detach(), "network": lambda x: NETWORK(x), "two": lambda x: (x * 2, (x * 3).detach()),
    "changed": lambda x: (y := x * 1).mul_(2) + y,
}

#: Transforms of a compiled function.
AROUND = {
    "grad": lambda f, x: grad(lambda y: f(y).sum())(x), "vjp": lambda f, x: vjp(f, x)[1](x), "jvp": lambda f, x: jvp(f, (x,), (x,)),
    "jacrev": lambda f, x: jacrev(f)(x), "jacfwd": lambda f, x: jacfwd(f)(x), "hessian": lambda f, x: hessian(lambda y: f(y).sum())(x),
    "vmap": lambda f, x: vmap(f)(torch.stack((x, x * 2))), "vmap of grad": lambda f, x: vmap(grad(lambda y: f(y).sum()))(torch.stack((x, x * 2))),
    "autograd.functional": lambda f, x: torch.autograd.functional.jacobian(f, x), "forward mode": lambda f, x: forward_mode(f, x),
}


def forward_mode(f, x):
    import torch.autograd.forward_ad as fwAD
    with fwAD.dual_level():
        return fwAD.unpack_dual(f(fwAD.make_dual(x, x * 2))).tangent


def attempt(function):
    """Returns (result, None), or (None, error)."""
    try:
        return function(), None
    except Exception as error:  # any error, which is compared between eager and compiled
        return None, error


class Gradients(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        tangram.torch.reset()
        warnings.simplefilter("ignore")

    def agree(self, wanted, found):
        """Checks that all values and `requires_grad` are equal, unless the eager run fails."""
        (theirs, their_error), (ours, our_error) = wanted, found
        if their_error is not None:
            return
        if our_error is not None:
            raise our_error
        for a, b in zip(*map(torch.utils._pytree.tree_leaves, (ours, theirs)), strict=True):
            torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
            if isinstance(b, torch.Tensor):
                self.assertEqual(a.requires_grad, b.requires_grad)

    def test_transforms_inside(self):
        for name, function in INSIDE.items():
            for mode, entered in MODES.items():
                with self.subTest(name, mode=mode):
                    self.setUp()
                    compiled = torch.compile(function, backend="tangram", options=SEARCH)
                    with entered():
                        x = torch.tensor([0.5, -1.0, 2.0])
                        self.agree(attempt(lambda: function(x)), attempt(lambda: compiled(x)))

    def test_backward_of_outputs(self):
        def gradients(function):
            x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
            NETWORK.zero_grad()
            found = torch.utils._pytree.tree_leaves(function(x))
            sum(one.sum() for one in found if one.requires_grad).backward()
            return [one for one in (x.grad, *(one.grad for one in NETWORK.parameters())) if one is not None]
        for name, function in INSIDE.items():
            with self.subTest(name):
                self.setUp()
                compiled = torch.compile(function, backend="tangram", options=SEARCH)
                with torch.enable_grad():  # some functions change the mode
                    self.agree(attempt(lambda: gradients(function)), attempt(lambda: gradients(compiled)))

    def test_transforms_around(self):
        for name, transform in AROUND.items():
            for mode, entered in MODES.items():
                for kind, function in {"values": vector, "network": NETWORK, "custom": Cube.apply}.items():
                    with self.subTest(name, mode=mode, function=kind):
                        self.setUp()
                        compiled = torch.compile(function, backend="tangram", options=SEARCH)
                        with entered():
                            x = torch.tensor([0.5, -1.0, 2.0])
                            self.agree(attempt(lambda: transform(function, x)), attempt(lambda: transform(compiled, x)))

    def test_modes_in_turn(self):
        """Calls one compiled function alternately without and with gradients."""
        module = network()
        compiled = torch.compile(module, backend="tangram", options=SEARCH)
        for step in range(3):
            x = torch.randn(5, 3)
            with torch.no_grad():
                torch.testing.assert_close(compiled(x), module(x))
            module.zero_grad()
            compiled(x).pow(2).sum().backward()
            ours = [one.grad.clone() for one in module.parameters()]
            module.zero_grad()
            module(x).pow(2).sum().backward()
            for a, b in zip(ours, module.parameters()):
                torch.testing.assert_close(a, b.grad)
                with torch.no_grad():
                    b -= 0.1 * a

    def test_dynamic_sizes(self):
        compiled = torch.compile(grad(scalar), backend="tangram", options=SEARCH, dynamic=True)
        for size in (3, 4, 5, 7):
            x = torch.randn(size)
            torch.testing.assert_close(compiled(x), grad(scalar)(x))

    def test_a_network_without_gradients_is_compiled_with_them_on(self):
        module = network().requires_grad_(False)
        torch.compile(module, backend="tangram", options=SEARCH)(torch.randn(5, 3))
        self.assertEqual([made.parts for made in tangram.torch.report()], [1])


if __name__ == "__main__":
    run_tests()
