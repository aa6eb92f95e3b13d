"""Makes the data files of `compressive-lab run images` and `classify-images`: two image sets, as principal components in f64 npy and as pixels in u8 npy.

    python benches/real_data.py FOLDER [--fashion-mnist PACKAGE.deb]

digits-pca10.npy: the 1797 digits of scikit-learn (8 x 8), PCA to 10; it also lies in testdata/real.
fashion-mnist-pca20.npy: the 70,000 images of Fashion-MNIST (28 x 28), PCA to 20, from Debian's package `dataset-fashion-mnist`: an installed one,
a package file given with --fashion-mnist, or one fetched by `apt-get download`.
digits-images.npy (also in testdata/real) and fashion-mnist-images.npy: the class of each image, then its pixels, row by row; training images first. Needs numpy and scikit-learn (benches/requirements.txt).
"""

import argparse
import gzip
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

INSTALLED = pathlib.Path("/usr/share/dataset-fashion-mnist")
NAME = "dataset-fashion-mnist"


def components(images, n):
    """Scores of the first n principal components, in the images' units; exact solver, signs fixed by scikit-learn."""
    return PCA(n, svd_solver="covariance_eigh").fit_transform(np.asarray(images, dtype=float))


def idx(file):
    """An idx file: magic number (its last byte the number of axes), lengths, then one byte a value; axes after the first are joined."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    axes = data[3]
    lengths = np.frombuffer(data, dtype=">i4", count=axes, offset=4)
    return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * axes).reshape(lengths[0], -1)


def fashion_mnist(package):
    """Classes and images, all 70,000, training before test."""
    with tempfile.TemporaryDirectory() as scratch:
        root = INSTALLED
        if package or not root.exists():
            if not package:
                subprocess.run(["apt-get", "download", NAME], cwd=scratch, check=True)
                package = next(pathlib.Path(scratch).glob("*.deb"))
            root = pathlib.Path(scratch) / "unpacked"
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
        files = [sorted(f for f in root.rglob(f"*{kind}*ubyte*") if f.is_file()) for kind in ("labels", "images")]
        if [len(both) for both in files] != [2, 2]:
            sys.exit(f"expected labels and images of Fashion-MNIST, for training and for test, below {root}, found {files}")
        return [np.concatenate([idx(f) for f in reversed(both)]) for both in files]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--fashion-mnist", type=pathlib.Path, metavar="PACKAGE.deb")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    sets = [("digits", (digits.target[:, None], digits.data), 10), ("fashion-mnist", fashion_mnist(args.fashion_mnist), 20)]
    for name, (classes, pixels), n in sets:
        scores = components(pixels, n)
        path = args.folder / f"{name}-pca{n}.npy"
        np.save(path, scores)
        print(f"{path}: {scores.shape[0]} x {scores.shape[1]}, variances {scores.var(axis=0).round(1).tolist()}")
        path = args.folder / f"{name}-images.npy"
        np.save(path, np.hstack([classes, pixels]).astype(np.uint8))
        print(f"{path}: {pixels.shape[0]} images of {pixels.shape[1]} pixels, {len(np.unique(classes))} classes")


if __name__ == "__main__":
    main()
