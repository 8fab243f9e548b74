import SignalboxPluginKit

/// The files that associate a domain with its apps.
enum Files {
    /// Universal Links and shared web credentials.
    static func apple(_ apps: [AppleApp], isLegacy: Bool) -> [UInt8] {
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
                    for app in apps where !app.paths.isEmpty {
                        out.object { out in
                            out.key("appIDs")
                            out.array { $0.string(app.id) }
                            out.key("components")
                            out.array { out in
                                for path in app.paths {
                                    out.object { $0.member("/", path) }
                                }
                            }
                            guard isLegacy else { return }
                            out.member("appID", app.id)
                            out.key("paths")
                            out.array { out in for path in app.paths { out.string(path) } }
                        }
                    }
                }
            }
            let shared = apps.filter { $0.sharesCredentials }
            guard !shared.isEmpty else { return }
            out.key("webcredentials")
            out.object { out in
                out.key("apps")
                out.array { out in for app in shared { out.string(app.id) } }
            }
        }
        return out.bytes
    }

    /// Digital Asset Links.
    static func android(_ apps: [AndroidApp]) -> [UInt8] {
        var out = JSONWriter()
        out.array { out in
            for app in apps {
                out.object { out in
                    out.key("relation")
                    out.array { $0.string("delegate_permission/common.handle_all_urls") }
                    out.key("target")
                    out.object { out in
                        out.member("namespace", "android_app")
                        out.member("package_name", app.package)
                        out.strings("sha256_cert_fingerprints", app.fingerprints)
                    }
                }
            }
        }
        return out.bytes
    }
}
