import SignalboxPluginKit

/// The files that associate a domain with its apps.
enum Files {
    /// Universal Links and shared web credentials.
    static func apple(_ apps: [JSON], isLegacy: Bool) -> [UInt8] {
        func paths(_ app: JSON) -> [String] { app["paths"]?.elements.compactMap(\.string) ?? [] }
        func id(_ app: JSON) -> String { app["app_id"]?.string ?? "" }
        var out = JSONWriter()
        out.object { out in
            out.key("applinks")
            out.object { out in
                if isLegacy {
                    out.key("apps")
                    out.raw("[]")
                }
                out.key("details")
                out.array { out in
                    for app in apps where !paths(app).isEmpty {
                        out.object { out in
                            out.key("appIDs")
                            out.array { $0.string(id(app)) }
                            out.key("components")
                            out.array { out in
                                for path in paths(app) {
                                    out.object { $0.member("/", path) }
                                }
                            }
                            guard isLegacy else { return }
                            out.member("appID", id(app))
                            out.key("paths")
                            out.array { out in for path in paths(app) { out.string(path) } }
                        }
                    }
                }
            }
            let shared = apps.filter { $0["webcredentials"]?.boolean == true }
            guard !shared.isEmpty else { return }
            out.key("webcredentials")
            out.object { out in
                out.key("apps")
                out.array { out in for app in shared { out.string(id(app)) } }
            }
        }
        return out.bytes
    }

    /// Digital Asset Links.
    static func android(_ apps: [JSON]) -> [UInt8] {
        var out = JSONWriter()
        out.array { out in
            for app in apps {
                out.object { out in
                    out.key("relation")
                    out.array { $0.string("delegate_permission/common.handle_all_urls") }
                    out.key("target")
                    out.object { out in
                        out.member("namespace", "android_app")
                        out.member("package_name", app["package"]?.string ?? "")
                        out.key("sha256_cert_fingerprints")
                        out.array { out in
                            for one in app["fingerprints"]?.elements ?? [] {
                                out.string(one.string ?? "")
                            }
                        }
                    }
                }
            }
        }
        return out.bytes
    }
}
