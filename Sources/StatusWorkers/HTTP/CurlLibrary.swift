// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc
import SourceKinds
import StatusSupport

/// libcurl, loaded at runtime; it stays loaded until the process ends.
final class CurlLibrary {
    /// The first version with `CURLOPT_QUICK_EXIT`.
    ///
    /// Without that option, the end of a transfer may wait for the resolver.
    private static let oldestVersion: UInt32 = 0x07_57_00

    /// libcurl's functions, called through `pointee`; they stay valid because the library stays loaded.
    let functions: UnsafePointer<statusd_curl>
    /// The file with the system's authorities, if any.
    let authoritiesFile: String?

    init() throws(HTTPFailure) {
        guard let handle = dlopen(HTTPSettings.library, RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? HTTPSettings.library
            throw HTTPFailure(reason: "cannot load libcurl: \(reason); install the package libcurl4")
        }
        let functions = UnsafeMutablePointer<statusd_curl>.allocate(capacity: 1)
        self.functions = UnsafePointer(functions)
        if let missing = statusd_curl_find(handle, functions) {
            throw HTTPFailure(
                reason: "unsuitable libcurl: \(String(cString: missing)) is missing")
        }
        let information = functions.pointee.version_info(CURLVERSION_SEVENTH)?.pointee
        guard let information, information.version_num >= Self.oldestVersion else {
            let version = information?.version.map { String(cString: $0) } ?? "older"
            throw HTTPFailure(reason: "libcurl \(version) is too old; install version 7.87 or later")
        }
        // The options and result codes of other TLS libraries differ.
        guard information.ssl_version.map({ String(cString: $0).contains("OpenSSL") }) ?? false else {
            throw HTTPFailure(reason: "unsuitable libcurl: it does not use OpenSSL")
        }
        authoritiesFile = information.cainfo.flatMap { access($0, R_OK) == 0 ? String(cString: $0) : nil }
        let result = functions.pointee.global_init(Int(CURL_GLOBAL_SSL))
        guard result == CURLE_OK else { throw HTTPFailure(reason: "cannot initialize libcurl: \(text(of: result))") }
    }

    func text(of code: CURLcode) -> String {
        functions.pointee.easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    }

    /// Returns scheme, host and port of a URL, or of what a reference in it leads to; nil if one is invalid.
    func origin(of url: String, _ reference: String? = nil) -> [String]? {
        let handle = functions.pointee.url()
        defer { functions.pointee.url_cleanup(handle) }
        // As libcurl reads the target of a redirect.
        let flags = UInt32(CURLU_URLENCODE | CURLU_ALLOW_SPACE)
        for text in [url] + (reference.map { [$0] } ?? [])
        where functions.pointee.url_set(handle, CURLUPART_URL, text, flags) != CURLUE_OK { return nil }
        var parts: [String] = []
        for part in [CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT] {
            var text: UnsafeMutablePointer<CChar>?
            guard functions.pointee.url_get(handle, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text
            else { return nil }
            parts.append(String(cString: text).lowercased())
            functions.pointee.free(text)
        }
        return parts
    }

    /// Returns a part of a URL; nil if the URL is invalid or has no such part.
    func part(_ part: CURLUPart, of url: String) -> String? {
        let handle = functions.pointee.url()
        defer { functions.pointee.url_cleanup(handle) }
        var text: UnsafeMutablePointer<CChar>?
        guard
            functions.pointee.url_set(handle, CURLUPART_URL, url, UInt32(CURLU_GUESS_SCHEME)) == CURLUE_OK,
            functions.pointee.url_get(handle, part, &text, 0) == CURLUE_OK, let text
        else { return nil }
        defer { functions.pointee.free(text) }
        return String(cString: text)
    }
}
