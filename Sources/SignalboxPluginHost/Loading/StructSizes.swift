package import CSignalbox

/// A struct that plugins hand to the host: it begins with its size, and may grow.
package protocol PluginStruct {
    /// Its name in the headers.
    static var name: String { get }
    /// `sizeof` it in contract 1.`minor`; one that grows in 1.1 has `minor < 1 ? 144 : 160`.
    static func size(minor: UInt32) -> Int
    /// What the plugin says.
    var struct_size: UInt32 { get }
}

/// Every struct that flows from plugins to the host.
package enum StructSizes {
    /// All of them; a test compares their sizes with each released contract.
    package static var all: [any PluginStruct.Type] {
        [
            sbx_plugin.self, sbx_ingest.self, sbx_build.self, sbx_send_http.self, sbx_send.self,
            sbx_register.self, sbx_ingest_path.self, sbx_event.self, sbx_recipient.self,
            sbx_device.self, sbx_change.self, sbx_notification.self, sbx_target.self,
            sbx_endpoint.self, sbx_http_request.self, sbx_outcome.self, sbx_http_call.self,
            sbx_error.self, sbx_fit_request.self,
        ]
    }
}

extension sbx_plugin: PluginStruct {
    package static var name: String { "sbx_plugin" }
    package static func size(minor: UInt32) -> Int { 112 }
}

extension sbx_ingest: PluginStruct {
    package static var name: String { "sbx_ingest" }
    package static func size(minor: UInt32) -> Int { 24 }
}

extension sbx_build: PluginStruct {
    package static var name: String { "sbx_build" }
    package static func size(minor: UInt32) -> Int { 24 }
}

extension sbx_send_http: PluginStruct {
    package static var name: String { "sbx_send_http" }
    package static func size(minor: UInt32) -> Int { 32 }
}

extension sbx_send: PluginStruct {
    package static var name: String { "sbx_send" }
    package static func size(minor: UInt32) -> Int { 16 }
}

extension sbx_register: PluginStruct {
    package static var name: String { "sbx_register" }
    package static func size(minor: UInt32) -> Int { 40 }
}

extension sbx_ingest_path: PluginStruct {
    package static var name: String { "sbx_ingest_path" }
    package static func size(minor: UInt32) -> Int { 40 }
}

extension sbx_event: PluginStruct {
    package static var name: String { "sbx_event" }
    package static func size(minor: UInt32) -> Int { minor < 1 ? 104 : 112 }
}

extension sbx_recipient: PluginStruct {
    package static var name: String { "sbx_recipient" }
    package static func size(minor: UInt32) -> Int { 32 }
}

extension sbx_device: PluginStruct {
    package static var name: String { "sbx_device" }
    package static func size(minor: UInt32) -> Int { 144 }
}

extension sbx_change: PluginStruct {
    package static var name: String { "sbx_change" }
    package static func size(minor: UInt32) -> Int { 64 }
}

extension sbx_notification: PluginStruct {
    package static var name: String { "sbx_notification" }
    package static func size(minor: UInt32) -> Int { 216 }
}

extension sbx_target: PluginStruct {
    package static var name: String { "sbx_target" }
    package static func size(minor: UInt32) -> Int { 16 }
}

extension sbx_endpoint: PluginStruct {
    package static var name: String { "sbx_endpoint" }
    package static func size(minor: UInt32) -> Int { 112 }
}

extension sbx_http_request: PluginStruct {
    package static var name: String { "sbx_http_request" }
    package static func size(minor: UInt32) -> Int { 88 }
}

extension sbx_outcome: PluginStruct {
    package static var name: String { "sbx_outcome" }
    package static func size(minor: UInt32) -> Int { 128 }
}

extension sbx_http_call: PluginStruct {
    package static var name: String { "sbx_http_call" }
    package static func size(minor: UInt32) -> Int { 96 }
}

extension sbx_fit_request: PluginStruct {
    package static var name: String { "sbx_fit_request" }
    package static func size(minor: UInt32) -> Int { 96 }
}

extension sbx_error: PluginStruct {
    package static var name: String { "sbx_error" }
    package static func size(minor: UInt32) -> Int { 256 }
}
