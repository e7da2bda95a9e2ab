// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import YAML

/// Reads the YAML of a configuration file, with errors that name file and line.
enum YAMLText {
    /// The tree of the document in `text`; nil if it is empty.
    static func read(_ text: String, file: String) throws(Problem) -> YAMLNode? {
        do throws(YAMLError) {
            return try YAMLDocument.read(text)
        } catch {
            throw Problem(
                .error, at: Origin(file: file, line: error.mark?.line),
                reason: "invalid YAML: \(VisibleText.escape(error.reason))")
        }
    }
}
