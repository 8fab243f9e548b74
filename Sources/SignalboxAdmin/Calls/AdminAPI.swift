internal import SignalboxCore
internal import SignalboxGateway

/// The description of the admin listener, in OpenAPI 3.1.
enum AdminAPI {
    static func json(of calls: [AdminCall]) -> JSONValue {
        let paths = Dictionary(grouping: calls) { $0.path.replacing("/*", with: "/{id}") }
        return [
            "openapi": "3.1.0",
            "info": ["title": "Signalbox admin listener", "version": .string(Release.version)],
            "components": [
                "securitySchemes": ["admin_token": ["type": "http", "scheme": "bearer"]]
            ],
            "security": [["admin_token": []]],
            "paths": .object(
                paths.sorted { $0.key < $1.key }.map { path, calls in
                    .init(path, .object(calls.map { operation($0, path) }))
                }),
        ]
    }

    private static func operation(_ call: AdminCall, _ path: String) -> JSONValue.Member {
        let kinds = (call.parameters ?? [:]).sorted { $0.key < $1.key }
        let input: JSONValue.Member
        if call.method == "GET" {
            var parameters = kinds.map { parameter($0.key, "query", schema($0.value)) }
            if path.hasSuffix("{id}") {
                parameters.append(parameter("id", "path", schema(.number)))
            }
            input = .init("parameters", .array(parameters))
        } else {
            let members = kinds.map { JSONValue.Member($0.key, schema($0.value)) }
            // A body of its own kind is described in the documentation alone.
            let body: JSONValue =
                call.parameters == nil
                ? ["type": "object"]
                : [
                    "type": "object", "properties": .object(members), "additionalProperties": false,
                ]
            input = .init("requestBody", ["content": ["application/json": ["schema": body]]])
        }
        let responses: JSONValue = [
            "200": ["description": "the result"],
            "default": [
                "description": "the reason, in the member detail",
                "content": ["application/problem+json": ["schema": ["type": "object"]]],
            ],
        ]
        return .init(
            call.method.lowercased(),
            .object([
                .init("summary", .string(call.about)), input, .init("responses", responses),
            ]))
    }

    private static func parameter(
        _ name: String, _ place: String, _ schema: JSONValue
    ) -> JSONValue {
        [
            "name": .string(name), "in": .string(place), "required": .bool(place == "path"),
            "schema": schema,
        ]
    }

    private static func schema(_ kind: AdminInput.Kind) -> JSONValue {
        switch kind {
        case .text: ["type": "string"]
        case .name: ["type": "string", "minLength": 1]
        case .number: ["type": "integer", "minimum": 0]
        case .count: ["type": "integer", "minimum": 1]
        case .flag: ["type": "boolean"]
        case .ids: ["type": "array", "minItems": 1, "items": schema(.number)]
        }
    }
}
