# SPDX-License-Identifier: Apache-2.0
"""Data for training: arrays, loaders and Lightning's data modules, with errors that name shapes.

Arrays go through ``ArrayLoader``, whose order follows from the seed and the epoch alone: a run that was killed goes on
with exactly the batches that were left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from microlith.errors import InputError, ShapeError

from .seeds import mix


def as_tensor(value: Any, what: str) -> Tensor:
    """An array or tensor as a tensor that training can take: float64 becomes float32, small integers become int64.

    Raises InputError when it is neither numbers nor booleans.
    """
    if not isinstance(value, Tensor):
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise InputError(
                f"{what} hold {array.dtype}, not numbers", hint="give arrays of numbers, all samples of one shape"
            )
        if array.dtype.kind in "iu":
            array = array.astype(np.int64)
        value = torch.from_numpy(np.ascontiguousarray(array))
    return value.float() if value.dtype == torch.float64 else value


class EpochOrder(DistributedSampler[int]):
    """The order of samples: a permutation that follows from seed and epoch, or 0, 1, 2, …; each process its share.

    It is a ``DistributedSampler`` so that Lightning leaves it as it is.
    """

    def __init__(self, dataset: Dataset[Any], shuffle: bool, seed: int) -> None:
        super().__init__(dataset, num_replicas=1, rank=0, shuffle=shuffle, seed=seed)
        self.size = len(dataset)
        self.clock: Callable[[], int] | None = None
        """Gives the epoch; None: what ``set_epoch`` said."""

    def _share(self) -> tuple[int, int]:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        return 0, 1

    def __len__(self) -> int:
        return -(-self.size // self._share()[1])

    def __iter__(self) -> Iterator[int]:
        rank, world = self._share()
        order = np.arange(self.size)
        if self.shuffle:
            epoch = self.clock() if self.clock else self.epoch
            order = np.random.default_rng([self.seed, epoch]).permutation(self.size)
        # Every process needs as many batches as the others: the first samples come a second time.
        order = np.resize(order, len(self) * world)
        return iter(order[rank::world].tolist())


class ArrayLoader(DataLoader[Any]):
    """Batches of ``(x, y)`` in an order that can be taken up at any batch."""

    def __init__(self, dataset: Dataset[Any], batch_size: int, shuffle: bool, seed: int) -> None:
        self.order = EpochOrder(dataset, shuffle, seed)
        self.start: Callable[[], int] | None = None
        """Gives the number of batches to leave out of the epoch that begins."""
        super().__init__(dataset, batch_size=batch_size, sampler=self.order)

    def __iter__(self) -> Iterator[Any]:
        indices = list(self.order)
        skip = self.start() if self.start else 0
        size = self.batch_size or 1
        tensors = self.dataset.tensors
        for begin in range(skip * size, len(indices), size):
            rows = indices[begin : begin + size]
            yield collate([tensor[rows] for tensor in tensors])


def collate(tensors: Sequence[Tensor]) -> tuple[Any, Tensor]:
    """Columns of a data set as (x, y); several columns before the last are the inputs of the model, in order."""
    *inputs, target = tensors
    return (inputs[0] if len(inputs) == 1 else tuple(inputs)), target


def split_batch(batch: Any) -> tuple[tuple[Tensor, ...], Any]:
    """The inputs and the target of a batch of any loader. Raises InputError when it is not a pair."""
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        kind = f"{type(batch).__name__} of {len(batch)}" if isinstance(batch, tuple | list) else type(batch).__name__
        raise InputError(
            f"a batch is a {kind}; it must be a pair (inputs, targets)",
            where="data",
            hint="for several inputs give ((a, b), targets); a LightningModule of your own may take what it likes",
        )
    inputs, target = batch
    return (tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)), target


@dataclass
class Loaders:
    """What the loop reads."""

    train: Any
    """A loader, or a LightningDataModule that holds the validation data too."""
    validation: Any = None

    @property
    def has_validation(self) -> bool:
        """Whether there is validation data."""
        if isinstance(self.train, LightningDataModule):
            return type(self.train).val_dataloader is not LightningDataModule.val_dataloader
        return self.validation is not None

    @property
    def batch_size(self) -> int | None:
        """Of training; None when the loader does not say."""
        return getattr(self.train, "batch_size", None)

    def first_batch(self) -> Any:
        """One batch, as training sees it."""
        loader = self.train
        if isinstance(loader, LightningDataModule):
            loader.prepare_data()
            loader.setup("fit")
            loader = loader.train_dataloader()
        state = torch.get_rng_state()
        try:
            return next(iter(loader))
        except StopIteration:
            raise InputError("there is no batch in it", where="data", hint="give at least one sample") from None
        finally:
            torch.set_rng_state(state)


def as_dataset(data: Any, what: str = "data") -> TensorDataset:
    """``(x, y)`` as a data set; x may be a tuple or list of arrays, one for each input, or lists of numbers.

    Raises InputError, ShapeError.
    """
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise InputError(
            f"expected a pair (x, y) of arrays, a DataLoader or a LightningDataModule, not {type(data).__name__}",
            where=what,
            hint="an autoencoder is trained on (x, x)",
        )
    x, y = data
    columns = [as_tensor(part, f"inputs {i}") for i, part in enumerate(_inputs(x))]
    columns.append(as_tensor(y, "targets"))
    shapes = " and ".join(str(tuple(column.shape)) for column in columns)
    if any(column.ndim == 0 for column in columns):
        raise ShapeError(f"arrays of shapes {shapes}: one has no axis of samples", where=what)
    if len({len(column) for column in columns}) > 1:
        raise ShapeError(
            f"x and y have different numbers of samples: shapes {shapes}",
            where=what,
            hint="the first axis is the sample",
        )
    if not len(columns[0]):
        raise InputError("there is no sample in it", where=what, hint="the first axis of the arrays is the sample")
    for column, name in zip(columns, [*["x"] * (len(columns) - 1), "y"], strict=True):
        if column.is_floating_point() and not bool(torch.isfinite(column).all()):
            bad = int((~torch.isfinite(column.reshape(len(column), -1)).all(1)).nonzero()[0])
            raise InputError(
                f"{name} holds NaN or infinity, first in sample {bad}",
                where=what,
                hint="leave such samples out, or fill the gaps (numpy.nan_to_num)",
            )
    return TensorDataset(*columns)


def _inputs(x: Any) -> Sequence[Any]:
    """One entry for each input; nested lists of numbers are one array."""
    if isinstance(x, list) and not any(isinstance(item, Tensor | np.ndarray) for item in x):
        return (x,)
    return x if isinstance(x, tuple | list) else (x,)


def make_loaders(data: Any, validation: Any, batch_size: int, seed: int) -> Loaders:
    """Loaders of what a user gave.

    ``data``: a pair of arrays, a DataLoader or a LightningDataModule. ``validation``: the same, or None, or for arrays
    a share between 0 and 1 of ``data``, drawn by ``seed``.
    """
    if isinstance(data, LightningDataModule):
        if validation is not None:
            raise InputError("a LightningDataModule brings its own validation data", where="validation")
        return Loaders(data)
    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}; at least 1 is needed")
    if isinstance(validation, float | int) and not isinstance(validation, bool):
        if isinstance(data, DataLoader):
            raise InputError("a share can be taken from arrays only", where="validation", hint="give a loader")
        dataset = as_dataset(data)
        held = round(len(dataset) * validation)
        if not 0 < validation < 1 or not 0 < held < len(dataset):
            raise InputError(
                f"{validation} of {len(dataset)} samples cannot be held back",
                where="validation",
                hint="a share between 0 and 1, of which and beside which at least one sample is left",
            )
        order = np.random.default_rng(mix(seed, 1)).permutation(len(dataset))
        parts = [TensorDataset(*(column[rows] for column in dataset.tensors)) for rows in (order[held:], order[:held])]
        return Loaders(ArrayLoader(parts[0], batch_size, True, seed), ArrayLoader(parts[1], batch_size, False, seed))
    train = data if isinstance(data, DataLoader) else ArrayLoader(as_dataset(data), batch_size, True, seed)
    if validation is None or isinstance(validation, DataLoader):
        return Loaders(train, validation)
    return Loaders(train, ArrayLoader(as_dataset(validation, "validation"), batch_size, False, seed))


def describe(data: Any) -> dict[str, Any]:
    """What the table of runs keeps of data: kind, number of samples, shapes, and a hash.

    Arrays are hashed as a whole. Of a data set that is read sample by sample, up to 64 samples at equal distances are.
    """
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(data, LightningDataModule):
        return {"kind": type(data).__name__, **describe_hyperparameters(data)}
    dataset = data.dataset
    if isinstance(dataset, TensorDataset):
        for column in dataset.tensors:
            array = column.detach().cpu().contiguous().numpy()
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(memoryview(array).cast("B") if array.size else b"")
        shapes = [[str(column.dtype).split(".")[-1], *column.shape] for column in dataset.tensors]
        return {"kind": "arrays", "samples": len(dataset), "shapes": shapes, "hash": digest.hexdigest()}
    try:
        count = len(dataset)
    except TypeError:
        return {"kind": type(dataset).__name__}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for index in sorted({int(i) for i in np.linspace(0, count - 1, min(count, 64))}):
            for leaf in torch.utils._pytree.tree_leaves(dataset[index]):
                digest.update(np.ascontiguousarray(np.asarray(leaf)).tobytes())
    return {"kind": type(dataset).__name__, "samples": count, "hash": f"sampled-{digest.hexdigest()}"}


def describe_hyperparameters(module: LightningDataModule) -> dict[str, Any]:
    """What a data module saved with ``save_hyperparameters``."""
    return {"hyperparameters": {key: str(value) for key, value in dict(module.hparams).items()}}
