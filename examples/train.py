"""Two private trainings with Opacus that differ in how batches are drawn: for check-training."""

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset


def shuffled() -> tuple[object, ...]:
    """As in many scripts: the loader stays as it is, and shuffles."""
    return PrivacyEngine().make_private(**_parts(), poisson_sampling=False)


def poisson() -> tuple[object, ...]:
    """Opacus's default: the loader that is returned draws Poisson samples."""
    return PrivacyEngine().make_private(**_parts())


def _parts() -> dict[str, object]:
    model = torch.nn.Linear(4, 1)
    rows = TensorDataset(torch.zeros(10_000, 4), torch.zeros(10_000, 1))
    return {
        "module": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "data_loader": DataLoader(rows, batch_size=100, shuffle=True),
        "noise_multiplier": 1.0,
        "max_grad_norm": 1.0,
    }
