"""Makes the data files of `compressive lab run real`: principal components of two image sets, as f64 npy.

    python benches/real_data.py FOLDER [--fashion-mnist PACKAGE.deb]

digits-pca10.npy: the 1797 digits of scikit-learn (8 x 8), PCA to 10; it also lies in testdata/real.
fashion-mnist-pca20.npy: the 70,000 images of Fashion-MNIST (28 x 28), PCA to 20, from Debian's package `dataset-fashion-mnist`: an installed one,
a package file given with --fashion-mnist, or one fetched by `apt-get download`. Needs numpy and scikit-learn (benches/requirements.txt).
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


def images(file):
    """An idx3 file: 16 bytes of header, then one byte a pixel."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    _, n, height, width = np.frombuffer(data, dtype=">i4", count=4)
    return np.frombuffer(data, dtype=np.uint8, offset=16).reshape(n, height * width)


def fashion_mnist(package):
    """All 70,000 images, training and test."""
    with tempfile.TemporaryDirectory() as scratch:
        root = INSTALLED
        if package or not root.exists():
            if not package:
                subprocess.run(["apt-get", "download", NAME], cwd=scratch, check=True)
                package = next(pathlib.Path(scratch).glob("*.deb"))
            root = pathlib.Path(scratch) / "unpacked"
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
        files = sorted(f for f in root.rglob("*images*ubyte*") if f.is_file())
        if len(files) != 2:
            sys.exit(f"expected the training and the test images of Fashion-MNIST below {root}, found {files}")
        return np.concatenate([images(f) for f in reversed(files)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--fashion-mnist", type=pathlib.Path, metavar="PACKAGE.deb")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    sets = [("digits-pca10.npy", lambda: load_digits().data, 10), ("fashion-mnist-pca20.npy", lambda: fashion_mnist(args.fashion_mnist), 20)]
    for name, load, n in sets:
        scores = components(load(), n)
        np.save(args.folder / name, scores)
        print(f"{args.folder / name}: {scores.shape[0]} x {scores.shape[1]}, variances {scores.var(axis=0).round(1).tolist()}")


if __name__ == "__main__":
    main()
