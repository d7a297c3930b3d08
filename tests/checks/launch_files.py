#!/usr/bin/env python3
"""Holds the files of configs/launch against what their readers demand: manifests against the parts of the Kubernetes API that
they use (field names, types, what is required and which values are known), and job scripts against bash.

  launch_files.py FOLDER

Ends with 77 (skipped) where a validator is missing.
"""
import pathlib
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing} (packages python3-jsonschema and python3-yaml)")
    sys.exit(77)


def struct(required=(), **fields):
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def listed(items):
    return {"type": "array", "items": items, "minItems": 1}


TEXT, FLAG, COUNT = {"type": "string"}, {"type": "boolean"}, {"type": "integer", "minimum": 0}
TEXTS = {"type": "object", "additionalProperties": TEXT}
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
METADATA = struct(["name"], name=NAME, labels=TEXTS, annotations=TEXTS)

# Field names and rules of core/v1 and batch/v1, as the API reference has them.
SERVICE = struct(["apiVersion", "kind", "metadata", "spec"], apiVersion={"const": "v1"}, kind={"const": "Service"}, metadata=METADATA,
                 spec=struct(["ports"], clusterIP=TEXT, publishNotReadyAddresses=FLAG, selector=TEXTS,
                             ports=listed(struct(["port"], name=NAME, port=PORT, targetPort=PORT))))
CONTAINER = struct(["name", "image"], name=NAME, image=TEXT, command=listed(TEXT), args=listed(TEXT),
                   env=listed(struct(["name"], name=TEXT, value=TEXT)),
                   ports=listed(struct(["containerPort"], name={**NAME, "maxLength": 15}, containerPort=PORT)),
                   resources=struct(requests=TEXTS, limits=TEXTS),
                   volumeMounts=listed(struct(["name", "mountPath"], name=NAME, mountPath=TEXT, readOnly=FLAG)))
VOLUME = struct(["name"], name=NAME, emptyDir=struct(medium={"enum": ["", "Memory"]}, sizeLimit=TEXT),
                configMap=struct(["name"], name=NAME), persistentVolumeClaim=struct(["claimName"], claimName=NAME))
POD = struct(["containers", "restartPolicy"], subdomain=NAME, restartPolicy={"enum": ["Never", "OnFailure"]},
             terminationGracePeriodSeconds=COUNT, containers=listed(CONTAINER), volumes=listed(VOLUME))
JOB = struct(["apiVersion", "kind", "metadata", "spec"], apiVersion={"const": "batch/v1"}, kind={"const": "Job"}, metadata=METADATA,
             spec=struct(["template"], completionMode={"enum": ["Indexed", "NonIndexed"]}, completions=COUNT, parallelism=COUNT,
                         backoffLimit=COUNT, activeDeadlineSeconds=COUNT, template=struct(["spec"], metadata=METADATA, spec=POD)))
KINDS = {"Service": SERVICE, "Job": JOB}


def problems_of(document):
    schema = KINDS.get(document.get("kind"))
    if schema is None:
        return [f"kind '{document.get('kind')}' is not one of {', '.join(KINDS)}"]
    found = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{'/'.join(map(str, problem.absolute_path))}: {problem.message}" for problem in found]


def flag(arguments, name):
    return next(argument.split("=", 1)[1] for argument in arguments if argument.startswith(f"--{name}="))


def check_job(documents):
    """What no schema says: the pieces fit together."""
    by_kind = {document["kind"]: document for document in documents}
    job, service = by_kind["Job"]["spec"], by_kind["Service"]
    pod = job["template"]["spec"]
    arguments = pod["containers"][0]["args"]
    name = by_kind["Job"]["metadata"]["name"]
    workers, local = int(flag(arguments, "worker_num")), int(flag(arguments, "local_worker_num"))
    yield job["completions"] == job["parallelism"], "all pods must run at once"
    yield workers == local * job["completions"], f"{workers} workers are not {local} in each of {job['completions']} pods"
    yield pod["subdomain"] == service["metadata"]["name"], "the pods' subdomain is not the service"
    yield flag(arguments, "master_addr") == f"{name}-0.{pod['subdomain']}", "the master is not pod 0"
    yield int(flag(arguments, "master_port")) == service["spec"]["ports"][0]["port"], "the ports differ"
    mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    yield mounted == {volume["name"] for volume in pod["volumes"]}, "volumes and mounts differ"


def main():
    folder, bad = pathlib.Path(sys.argv[1]), []
    for file in sorted(folder.glob("*.yaml")):
        documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
        bad += [f"{file}: {problem}" for document in documents for problem in problems_of(document)]
        bad += [f"{file}: {text}" for good, text in check_job(documents) if not good]
    for file in sorted(folder.glob("*.sbatch")):
        result = subprocess.run(["bash", "-n", file], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            bad.append(f"{file}: {result.stderr}")
    # The schema must be seen refusing something.
    if not problems_of({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"completion": 2}}):
        bad.append("a misspelled field was not refused")
    print("\n".join(bad) or "all files of configs/launch are sound")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
