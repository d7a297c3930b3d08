"""Interleaves Tenon and torchvision over the same folder of images; medians. Called by data_loading.sh."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def run(*command):
    return json.loads(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", required=True, help="an interpreter that imports torch, torchvision, PIL and numpy")
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    peer = HERE / "peers" / "images_torch.py"
    with tempfile.TemporaryDirectory() as folder:
        made = run(options.python, peer, "make", folder, options.images)
        ours, theirs = [], {}
        for _ in range(options.rounds):
            ours.append(float(subprocess.run([f"{options.bin}/image_loading", folder], check=True, capture_output=True, text=True).stdout))
            answer = run(options.python, peer, "time", folder)
            for recipe, took in answer["recipes"].items():
                theirs.setdefault(recipe, []).append(took)
    medians = {recipe: statistics.median(times) for recipe, times in theirs.items()}
    best = min(medians, key=medians.get)
    tenon = statistics.median(ours)
    row = {
        "case": "images_random_resized_crop_224",
        "tenon_ms": round(tenon, 4),
        "peer_ms": round(medians[best], 4),
        "ratio": round(medians[best] / tenon, 3),
        "peer": f"torchvision.io and v2, {best}",
        "versions": answer["versions"],
        "recipes_ms": {recipe: round(took, 4) for recipe, took in medians.items()},
        "image_kb": made["image_kb"],
    }
    if options.json:
        json.dump([row], sys.stdout, indent=1)
        print()
    else:
        print(f"tenon {row['tenon_ms']} ms an image, {row['peer']} {row['peer_ms']} ms, ratio {row['ratio']} (images of {made['image_kb']} KB)")


if __name__ == "__main__":
    main()
