#!/usr/bin/env python3
"""validate_documents.py SCHEMAS DOCUMENTS: says what does not fit the schemas in the directory SCHEMAS.

DOCUMENTS is a JSON list of {"schema", "from", "document"}: the name of a schema without its ".json", what printed
the document, and the document itself. The schemas are looked at too: each has to be one, and to say of each object
all that it has. Then each document is tried once more with a field in each of its objects that is in no schema.

Exit code 0: all is well; 1: it is not; 77: a module is missing.
"""
import copy
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError as missing:
    print(missing)
    sys.exit(77)

FREE = {"data", "spawn_state"}  # in the objects below these users keep what they like


class Schemas:
    """All schemas of a directory, which refer to each other by their file names."""

    def __init__(self, directory):
        files = sorted(pathlib.Path(directory).resolve().glob("*.json"))
        self.by_name = {file.stem: json.loads(file.read_text()) for file in files}
        self.by_uri = {file.as_uri(): {**self.by_name[file.stem], "$id": file.as_uri()} for file in files}
        self.validators = {file.stem: self.validator(file.as_uri()) for file in files}

    def validator(self, uri):
        schema = self.by_uri[uri]
        jsonschema.Draft202012Validator.check_schema(schema)
        try:
            from referencing import Registry, Resource
        except ImportError:  # jsonschema before 4.18
            resolver = jsonschema.RefResolver(uri, schema, store=self.by_uri)
            return jsonschema.Draft202012Validator(schema, resolver=resolver)
        resources = [(other, Resource.from_contents(text)) for other, text in self.by_uri.items()]
        return jsonschema.Draft202012Validator(schema, registry=Registry().with_resources(resources))


def loose_ends(schema, place):
    """Objects of which a schema does not say all."""
    if isinstance(schema, list):
        for i, one in enumerate(schema):
            yield from loose_ends(one, f"{place}/{i}")
    if not isinstance(schema, dict):
        return
    fields = schema.get("properties")
    if isinstance(fields, dict) and not place.endswith("/properties"):
        closed = False in (schema.get("additionalProperties"), schema.get("unevaluatedProperties"))
        if not closed and not schema.get("$comment", "").startswith("Part of"):
            yield f"{place}: takes any further field"
        if set(fields) != set(schema.get("required", [])):
            yield f"{place}: not all of its fields are required"
    for key, one in schema.items():
        yield from loose_ends(one, f"{place}/{key}")


def dangling(schemas, name, schema):
    """References to what is not there."""
    if isinstance(schema, list):
        for one in schema:
            yield from dangling(schemas, name, one)
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("$ref"), str):
        file, _, pointer = schema["$ref"].partition("#")
        at = schemas.get(file.removesuffix(".json") or name)
        for step in pointer.strip("/").split("/"):
            at = at.get(step) if isinstance(at, dict) else None
        if at is None:
            yield f"{name}.json: there is no {schema['$ref']}"
    for one in schema.values():
        yield from dangling(schemas, name, one)


def objects(value, path=()):
    """Where the objects of a document are; of a list the first item stands for all."""
    if isinstance(value, dict):
        yield path
        for key, one in value.items():
            if key not in FREE:
                yield from objects(one, (*path, key))
    elif isinstance(value, list) and value:
        yield from objects(value[0], (*path, 0))


def takes_an_unknown_field(validator, document, path):
    changed = copy.deepcopy(document)
    at = changed
    for step in path:
        at = at[step]
    at["in no schema"] = "x"
    return validator.is_valid(changed)


def shown(path):
    return "/".join(map(str, path)) or "(all of it)"


def innermost(error):
    while error.context:
        error = max(error.context, key=lambda one: len(one.absolute_path))
    return error


def complaints(schemas, documents):
    for name, schema in schemas.by_name.items():
        if name != "workflow":
            yield from loose_ends(schema, f"{name}.json")
            yield from dangling(schemas.by_name, name, schema)
    for one in documents:
        if one["schema"] not in schemas.validators:
            yield f"{one['from']}: there is no {one['schema']}.json"
            continue
        validator, document, origin = schemas.validators[one["schema"]], one["document"], one["from"]
        errors = [innermost(error) for error in validator.iter_errors(document)]
        for error in errors:
            yield f"{origin}: {shown(error.absolute_path)}: {error.message[:300]}"
        if not errors:
            for path in objects(document):
                if takes_an_unknown_field(validator, document, path):
                    yield f"{origin}: {shown(path)}: {one['schema']}.json takes a field that is in no schema"


with open(sys.argv[2]) as file:
    found = list(complaints(Schemas(sys.argv[1]), json.load(file)))
for complaint in found:
    print(complaint)
sys.exit(1 if found else 0)
