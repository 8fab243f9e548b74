import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxPluginHost
import Testing

/// `sbx.crypto/1`, asked by a plugin in C, with the vectors of its standards.
@Suite struct CryptoServiceTests {
    private static let source = RoleTests.plugin(
        role: "SBX_ROLE_INGEST",
        table: "static const sbx_ingest the_role = {sizeof the_role, 0, paths, handle};",
        functions: #"""
            #include <stdio.h>
            static const sbx_ingest_path the_paths[] = {{sizeof(sbx_ingest_path), 0, {"/a", 2}, {"POST", 4}}};
            static sbx_status paths(sbx_instance *i, const sbx_ingest_path **p, size_t *n, size_t *s) {
              (void)i; *p = the_paths; *n = 1; *s = sizeof *the_paths; return SBX_OK;
            }
            #define BYTES(b, n) ((sbx_str){(const char *)(b), n})
            #define RAW(p, n) {.struct_size = sizeof(sbx_crypto_key), .bytes = BYTES(p, n)}
            static char answer[65536];
            static const sbx_host *h;
            static const sbx_crypto *c;
            static size_t from(const char *text, unsigned char *out) {
              size_t length = 4096;
              if (c->decode(h, strchr(text, ':') ? SBX_TEXT_HEX : SBX_TEXT_BASE64URL,
                            BYTES(text + (strchr(text, ':') ? 1 : 0), strlen(text) - (strchr(text, ':') ? 1 : 0)),
                            out, &length) != SBX_OK) return 0;
              return length;
            }
            static void note(const char *name, sbx_status status, const void *bytes, size_t n) {
              char text[2048];
              size_t length = sizeof text;
              if (status != SBX_OK || c->encode(h, SBX_TEXT_HEX, BYTES(bytes, n), text, &length) != SBX_OK) length = 0;
              size_t at = strlen(answer);
              snprintf(answer + at, sizeof answer - at, "%s %d %.*s\n", name, status, (int)length, text);
            }
            static sbx_status handle(sbx_instance *i, const sbx_request *r, sbx_ingest_sink *sink, sbx_error *e) {
              (void)r;
              unsigned char a[4096], b[4096], out[4096], salt[16], info[256];
              h = i->host; c = h->service(h, SBX_SVC_CRYPTO); answer[0] = 0;
              for (uint32_t hash = 1; hash <= 6; hash++) {
                size_t length = sizeof out;
                sbx_status status = c->digest(h, hash, STR("abc"), out, &length);
                note("digest", status, out, length);
              }
              size_t length = 31;
              note("short", c->digest(h, SBX_HASH_SHA256, STR("abc"), out, &length), out, 0);
              note("needs", SBX_OK, (unsigned char[]){(unsigned char)length}, 1);
              /* AWS Signature Version 4: the secret stays in the host. */
              sbx_crypto_key aws = {.struct_size = sizeof aws, .secret = STR("aws"), .prefix = STR("AWS4")};
              const char *chain[] = {"20150830", "us-east-1", "iam", "aws4_request",
                ("AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/iam/aws4_request\n"
                 "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59")};
              for (int k = 0; k < 5; k++) {
                length = sizeof out;
                sbx_status status = c->hmac(h, SBX_HASH_SHA256, &aws, BYTES(chain[k], strlen(chain[k])), out, &length, e);
                if (k > 2) note("aws", status, out, length);
                memcpy(a, out, 32);
                aws = (sbx_crypto_key)RAW(a, 32);
              }
              /* RFC 4231, case 1, with the key as a secret in base64. */
              sbx_crypto_key text = {.struct_size = sizeof text, .secret = STR("text"), .text = SBX_TEXT_BASE64};
              for (uint32_t hash = 1; hash <= 5; hash++) {
                length = sizeof out;
                sbx_status status = c->hmac(h, hash, &text, STR("Hi There"), out, &length, e);
                note("hmac", status, out, length);
              }
              /* RFC 5869, case 1. */
              size_t n = from(":0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", a);
              sbx_crypto_key ikm = RAW(a, n);
              size_t ns = from(":000102030405060708090a0b0c", salt), ni = from(":f0f1f2f3f4f5f6f7f8f9", info);
              note("hkdf", c->hkdf(h, SBX_HASH_SHA256, &ikm, BYTES(salt, ns), BYTES(info, ni), out, 42, e), out, 42);
              note("hkdf", c->hkdf(h, SBX_HASH_SHA256, &ikm, STR(""), STR(""), out, 42, e), out, 42);
              note("hkdf", c->hkdf(h, SBX_HASH_SHA256, &ikm, STR(""), STR(""), out, 255 * 32 + 1, e), out, 0);
              /* RFC 8291, section 5: a message for a browser. */
              unsigned char ua[65], as[65], shared[32], auth[16], prk[32], cek[16], nonce[12];
              from("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", ua);
              from("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", a);
              from("BTBZMqHH6r4Tts7J_aSIgg", auth);
              from("DGv6ra1nlYgDCS1FRnbzlw", salt);
              sbx_crypto_key own = RAW(a, 32);
              note("agree", c->agree(h, &own, BYTES(ua, 65), as, shared, e), as, 65);
              memcpy(info, "WebPush: info", 14); memcpy(info + 14, ua, 65); memcpy(info + 79, as, 65);
              sbx_crypto_key secret = RAW(shared, 32);
              note("ikm", c->hkdf(h, SBX_HASH_SHA256, &secret, BYTES(auth, 16), BYTES(info, 144), prk, 32, e), prk, 32);
              sbx_crypto_key key = RAW(prk, 32);
              note("cek", c->hkdf(h, SBX_HASH_SHA256, &key, BYTES(salt, 16), BYTES("Content-Encoding: aes128gcm", 28), cek, 16, e), cek, 16);
              note("nonce", c->hkdf(h, SBX_HASH_SHA256, &key, BYTES(salt, 16), BYTES("Content-Encoding: nonce", 24), nonce, 12, e), nonce, 12);
              sbx_crypto_key sealing = RAW(cek, 16);
              length = sizeof b;
              sbx_status status = c->seal(h, &sealing, BYTES(nonce, 12), STR(""), STR("When I grow up, I want to be a watermelon\x02"), b, &length, e);
              note("seal", status, b, length);
              size_t sealed = length;
              length = sizeof out;
              status = c->open(h, &sealing, BYTES(nonce, 12), STR(""), BYTES(b, sealed), out, &length, e);
              note("open", status, out, length);
              note("added", c->open(h, &sealing, BYTES(nonce, 12), STR("x"), BYTES(b, sealed), out, &length, e), out, 0);
              b[3] ^= 1;
              length = sizeof out;
              note("forged", c->open(h, &sealing, BYTES(nonce, 12), STR(""), BYTES(b, sealed), out, &length, e), out, 0);
              note("stump", c->open(h, &sealing, BYTES(nonce, 12), STR(""), BYTES(b, 15), out, &length, e), out, 0);
              sbx_crypto_key odd = RAW(cek, 15);
              note("odd", c->seal(h, &odd, BYTES(nonce, 12), STR(""), STR("x"), out, &length, e), out, 0);
              /* NIST's case 4, with data that is only authenticated. */
              n = from(":feffe9928665731c6d6a8f9467308308", a);
              sbx_crypto_key nist = RAW(a, n);
              n = from(":cafebabefacedbaddecaf888", nonce);
              ni = from(":feedfacedeadbeeffeedfacedeadbeefabaddad2", info);
              n = from(":d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39", b);
              length = sizeof out;
              status = c->seal(h, &nist, BYTES(nonce, 12), BYTES(info, ni), BYTES(b, n), out, &length, e);
              note("nist", status, out, length);
              /* A new pair each time; a point off the curve; a key in PEM. */
              unsigned char other[65], again[32];
              status = c->agree(h, NULL, BYTES(ua, 65), as, shared, e);
              note("fresh", status, as, 1);
              status = c->agree(h, NULL, BYTES(ua, 65), other, again, e);
              note("differ", status, (unsigned char[]){memcmp(as, other, 65) && memcmp(shared, again, 32)}, 1);
              ua[64] ^= 1;
              note("off", c->agree(h, NULL, BYTES(ua, 65), as, shared, e), as, 0);
              note("half", c->agree(h, NULL, BYTES(ua, 33), as, shared, e), as, 0);
              sbx_crypto_key pem = {.struct_size = sizeof pem, .secret = STR("pem")};
              note("pem", c->agree(h, &pem, BYTES(other, 65), as, shared, e), as, 65);
              /* Secrets that are missing or of another form, and a malformed key. */
              sbx_crypto_key none = {.struct_size = sizeof none, .secret = STR("nothing")};
              note("none", c->hmac(h, SBX_HASH_SHA256, &none, STR(""), out, &length, e), out, 0);
              sbx_crypto_key form = {.struct_size = sizeof form, .secret = STR("aws"), .text = SBX_TEXT_HEX};
              note("form", c->hmac(h, SBX_HASH_SHA256, &form, STR(""), out, &length, e), out, 0);
              sbx_crypto_key kind = {.struct_size = sizeof kind, .secret = STR("aws"), .text = 9};
              note("kind", c->hmac(h, SBX_HASH_SHA256, &kind, STR(""), out, &length, e), out, 0);
              sbx_crypto_key bad = {.struct_size = 8};
              note("size", c->hmac(h, SBX_HASH_SHA256, &bad, STR(""), out, &length, NULL), out, 0);
              /* Random bytes and encodings. */
              memset(out, 0, 64);
              status = c->random(h, out, 32);
              note("random", status, (unsigned char[]){memcmp(out, out + 32, 32) != 0}, 1);
              note("much", c->random(h, out, 65537), out, 0);
              const char *words[] = {"", "fb", "fbff"};
              for (uint32_t k = 0; k < 3; k++)
                for (uint32_t t = 1; t <= 4; t++) {
                  char made[64];
                  length = sizeof made;
                  n = 2;
                  status = c->encode(h, t, BYTES("\xfb\xff", k), made, &length);
                  note(words[k][0] ? words[k] : "empty", status, made, status ? 0 : length);
                }
              for (uint32_t t = 1; t <= 4; t++) {
                length = sizeof out;
                status = c->decode(h, t, STR("fB+/"), out, &length);
                note("decode", status, out, length);
              }
              return sink->respond(sink, 200, NULL, 0, BYTES(answer, strlen(answer)));
            }
            """#)

    private func answers() async throws -> [String] {
        let services = RigServices()
        let pem = try SigningKey(p256Scalar: [UInt8](repeating: 7, count: 32)).privateKeyPEM()
        let instance = try await PluginRig.instance(
            of: try await PluginRig.compile(Self.source),
            secrets: [
                "aws": Array("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".utf8),
                "text": Array("CwsLCwsLCwsLCwsLCwsLCwsLCws=".utf8), "pem": pem,
            ], services: services)
        let role = try #require(try await IngestRole(instance, limits: Limits()))
        let once = Once<IngestResult>()
        let request = IngestRequest(
            method: "POST", path: "/a", pattern: "/a", body: [], receivedUnixMs: 1)
        role.handle(request) { once.set($0) }
        let result = try #require(await once.value())
        _ = await instance.stop(deadlineMs: 5_000)
        #expect(services.faults.count == 1 && services.faults[0].contains("sbx_crypto_key"))
        return String(decoding: result.answer?.body ?? [], as: UTF8.self).split(separator: "\n")
            .map(String.init)
    }

    @Test func `every function gives what its standard says`() async throws {
        let lines = try await answers()
        var expected: [String] = []
        func expect(_ name: String, _ status: Int, _ hex: String = "") {
            expected.append("\(name) \(status) \(hex)")
        }
        let abc = Array("abc".utf8)
        for hash in HashFunction.allCases { expect("digest", 0, Hex.encode(try hash.digest(abc))) }
        expect("digest", -4)
        expect("short", -9)
        expect("needs", 0, "20")
        expect("aws", 0, "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9")
        expect("aws", 0, "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")
        for hex in Self.hmacs { expect("hmac", 0, hex) }
        expect(
            "hkdf", 0,
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        expect(
            "hkdf", 0,
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
        expect("hkdf", -3)
        func url(_ text: String) -> String { Hex.encode(Base64.decode(text) ?? []) }
        expect(
            "agree", 0,
            url(
                "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
            ))
        expect("ikm", 0, url("S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg"))
        expect("cek", 0, url("oIhVW04MRdy2XN9CiKLxTg"))
        expect("nonce", 0, url("4h_95klXJ5E_qnoN"))
        // The message of RFC 8291 without its head of 86 bytes.
        let message =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w"
            + "EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        expect("seal", 0, String(url(message).dropFirst(2 * 86)))
        let plain = Array("When I grow up, I want to be a watermelon\u{2}".utf8)
        expect("open", 0, Hex.encode(plain))
        for (name, status) in [("added", -7), ("forged", -7), ("stump", -7), ("odd", -3)] {
            expect(name, status)
        }
        expect("nist", 0, Self.nist)
        expect("fresh", 0, "04")
        expect("differ", 0, "01")
        expect("off", -3)
        expect("half", -3)
        let own = try SigningKey(p256Scalar: [UInt8](repeating: 7, count: 32))
        expect("pem", 0, Hex.encode(try #require(own.publicKeyRaw)))
        for (name, status) in [("none", -8), ("form", -3), ("kind", -4), ("size", -3)] {
            expect(name, status)
        }
        expect("random", 0, "01")
        expect("much", -3)
        for (name, texts) in [
            ("empty", ["", "", ""]), ("fb", ["fb", "+w==", "-w"]),
            ("fbff", ["fbff", "+/8=", "-_8"]),
        ] {
            for text in texts { expect(name, 0, Hex.encode(text.utf8)) }
            expect(name, -4)
        }
        expect("decode", -3)
        expect("decode", 0, "7c1fbf")
        expect("decode", 0, "7c1fbf")
        expect("decode", -4)
        for (line, wanted) in zip(lines, expected) { #expect(line == wanted) }
        #expect(lines.count == expected.count)
    }

    /// RFC 4231, case 1; RFC 2202 has the same for SHA-1.
    private static let hmacs = [
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
        "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4"
            + "be9d914eeb61f1702e696c203a126854",
        "b617318655057264e28bc0b6fb378c8ef146be00", "5ccec34ea9656392457fa1ac27f08fbc",
    ]

    private static let nist =
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05"
        + "1ba30b396a0aac973d58e091" + "5bc94fbc3221a5db94fae95ae7121a47"

    @Test func `plain digests are those of their standards`() throws {
        let abc = Array("abc".utf8)
        #expect(Hex.encode(try HashFunction.md5.digest(abc)) == "900150983cd24fb0d6963f7d28e17f72")
        #expect(
            Hex.encode(try HashFunction.sha1.digest(abc))
                == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(try HashFunction.sha256.digest(abc) == Digest.sha256(abc))
        let long = [
            (HashFunction.sha384, "cb00753f45a35e8bb5a03d699ac65007"),
            (.sha512, "ddaf35a193617abacc417349ae204131"),
        ]
        for (function, start) in long {
            #expect(Hex.encode(try function.digest(abc)).hasPrefix(start))
        }
    }
}
