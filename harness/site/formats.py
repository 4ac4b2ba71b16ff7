"""Makes a page of a JSON Schema: a table of members for each object, and the values of each choice."""

import re


def format_page(name, schema):
    title = schema.get("title", name)
    text = f"# Format: {name}\n\n{sentences(schema)}`acp-conformance schema {name}` prints the JSON Schema of this format{title_of(title)}.\n\n## The file\n{body(schema)}"
    for definition, one in schema.get("$defs", {}).items():
        text += f"\n## {definition}\n\n{sentences(one)}{body(one)}"
    return text


def title_of(title):
    return f", `{title}`" if "/" in title else ""


def sentences(schema):
    description = schema.get("description", "")
    return f"{prose(description)}\n\n" if description else ""


def body(schema):
    """Describes the members, the alternatives, or else the type."""
    text = ""
    if schema.get("properties"):
        required = schema.get("required", [])
        text += "\n| member | type | meaning |\n|---|---|---|\n"
        for member, one in schema["properties"].items():
            mark = " (required)" if member in required else ""
            text += f"| `{member}`{mark} | {kind(one)} | {cell(one.get('description', ''))} |\n"
    alternatives = schema.get("oneOf") or schema.get("anyOf")
    if alternatives:
        text += "\nOne of:\n\n" + "".join(f"- {kind(one)}{meaning(one)}\n" for one in alternatives)
    if not text:
        text = f"\nType: {kind(schema)}\n"
    return text


def meaning(schema):
    description = schema.get("description")
    return f": {prose(description)}" if description else ""


def kind(schema):
    """Returns the type of a value in a few words."""
    if not isinstance(schema, dict):
        return "any value"
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{re.sub(r'[^a-z0-9_-]', '', name.lower())})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        values = [f"`{value}`" for value in schema["enum"]]
        return ", ".join(values[:12]) + (f" and {len(values) - 12} more" if len(values) > 12 else "")
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return " or ".join(dict.fromkeys(kind(one) for one in alternatives))
    types = schema.get("type", "any value")
    types = [one for one in types if one != "null"] if isinstance(types, list) else [types]
    if types == ["array"]:
        return f"list of {kind(schema.get('items', {}))}"
    if types == ["object"] and isinstance(schema.get("additionalProperties"), dict):
        return f"object with values: {kind(schema['additionalProperties'])}"
    if types == ["object"] and schema.get("properties"):
        return "object with " + ", ".join(f"`{member}`: {kind(one)}" for member, one in schema["properties"].items())
    return " or ".join(types)


def prose(text):
    """Escapes what Markdown would read as HTML, outside code."""
    parts = text.replace("\n", " ").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def cell(text):
    return prose(text).replace("|", "\\|")
