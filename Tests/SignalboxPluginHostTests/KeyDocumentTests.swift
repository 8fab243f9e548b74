import PluginRig
import SignalboxCore
import SignalboxCrypto
import Testing

@testable import SignalboxPluginHost

/// Keys inside JSON documents, and keys that a plugin gives itself.
@Suite struct KeyDocumentTests {
    private func part(_ document: String, _ pointer: String) -> String? {
        KeyDocument.part(of: Array(document.utf8), at: pointer).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func `a pointer leads to a text or to a JWK`() {
        let document = #"{"a":{"b/c":["x",{"kty":"EC"}],"n":1}}"#
        #expect(part(document, "/a/b~1c/0") == "x")
        #expect(part(document, "/a/b~1c/1") == #"{"kty":"EC"}"#)
        for wrong in ["/a/b~1c/2", "/a/b~1c/-1", "/a/n", "/z", "a", "/a/b~1c"] {
            #expect(part(document, wrong) == nil, "\(wrong)")
        }
        #expect(part("no JSON", "/a") == nil)
    }

    @Test func `a key of a set is named by its kid, or else by its index`() {
        let set = #"{"keys":[{"kid":"1","n":"a"},{"kid":"a/b","n":"b"},{"n":"c"}]}"#
        #expect(part(set, "/keys/1") == #"{"kid":"1","n":"a"}"#)
        #expect(part(set, "/keys/a~1b") == #"{"kid":"a/b","n":"b"}"#)
        #expect(part(set, "/keys/2") == #"{"n":"c"}"#)
        #expect(part(set, "/keys/other") == nil)
    }

    /// The plugin verifies with the text that is its route here, which no secret has as its name.
    @Test func `a public key may be given itself, a keyed digest's may not`() async throws {
        let key = try ThrowAway.p256Key()
        let signature = try key.signES256(Array("data".utf8))
        let bytes = signature.map { "0x\(String($0, radix: 16))" }.joined(separator: ",")
        let pem = String(decoding: try key.publicKeyPEM(), as: UTF8.self)
            .replacing("\n", with: "\\n")
        let source = RoleTests.plugin(
            role: "SBX_ROLE_BUILD",
            table: "static const sbx_build the_role = {sizeof the_role, 0, NULL, build};",
            functions: """
                static sbx_status start(sbx_instance *i, sbx_error *e) {
                  const sbx_sign *sign = i->host->service(i->host, SBX_SVC_SIGN);
                  static const char s[] = {\(bytes)};
                  sbx_str signature = {s, sizeof s}, key = STR("\(pem)");
                  sbx_status a = sign->verify(i->host, SBX_SIGN_ES256, key, STR(""), STR("data"), signature, e);
                  sbx_status b = sign->verify(i->host, SBX_SIGN_ES256, key, STR(""), STR("date"), signature, e);
                  sbx_status c = sign->verify(i->host, SBX_SIGN_HMAC_SHA256, key, STR(""), STR("data"), signature, e);
                  sbx_status d = sign->verify(i->host, SBX_SIGN_ES256, STR("{}"), STR("/keys/k"), STR("data"), signature, e);
                  sbx_status f = sign->verify(i->host, SBX_SIGN_ES256, STR("secret"), STR(""), STR("data"), signature, NULL);
                  return a == SBX_OK && b == SBX_E_AUTH && c == SBX_E_NOT_FOUND && d == SBX_E_NOT_FOUND
                             && f == SBX_E_NOT_FOUND ? SBX_OK : SBX_E_INTERNAL;
                }
                static sbx_status build(sbx_instance *i, const sbx_build_input *in, sbx_build_sink *s, sbx_error *e) {
                  (void)i; (void)in; (void)s; (void)e; return SBX_OK;
                }
                """
        ).replacing("create, role, NULL, NULL, destroy", with: "create, role, start, NULL, destroy")
        let instance = try await PluginRig.instance(
            of: try await PluginRig.compile(source), services: RigServices())
        #expect(await instance.stop(deadlineMs: 5_000))
    }
}
