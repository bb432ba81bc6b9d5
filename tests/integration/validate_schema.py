#!/usr/bin/env python3
"""validate_schema.py SCHEMA FILE...: says which files the schema refuses, and why.

Exit code 0: none; 1: some; 77: a module is missing.
"""
import json
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(missing)
    sys.exit(77)


class Loader(yaml.SafeLoader):
    """Editors read YAML 1.2 and see texts where YAML 1.1 saw dates and sexagesimal numbers."""


Loader.yaml_implicit_resolvers = {
    first: [r for r in resolvers if r[0] not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int")]
    + [r for r in resolvers if r[0] == "tag:yaml.org,2002:int" and first in "-+0123456789"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

with open(sys.argv[1]) as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
refused = 0
for name in sys.argv[2:]:
    with open(name) as file:
        value = yaml.load(file, Loader)
    for error in validator.iter_errors(value):
        refused = 1
        print(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
sys.exit(refused)
