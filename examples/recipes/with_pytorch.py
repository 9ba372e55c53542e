"""A PyTorch module, compiled by Tangram."""
import tangram.torch
import torch

module = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16),
                             torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 256, 10)).eval()
image = torch.rand(1, 3, 16, 16)

with torch.no_grad():
    fast = torch.compile(module, backend="tangram")
    torch.testing.assert_close(fast(image), module(image), atol=1e-4, rtol=1e-4)
print("as PyTorch computes it")
for graph in tangram.torch.report():
    print(graph.operators, "operators run here, left to PyTorch:", graph.kept or "none")
