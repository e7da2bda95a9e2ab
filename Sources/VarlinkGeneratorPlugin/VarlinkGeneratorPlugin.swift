// SPDX-License-Identifier: Apache-2.0

import Foundation
import PackagePlugin

/// Generates the Swift code of each `.varlink` file of a target.
///
/// The file NAME.options next to NAME.varlink has its options.
@main
struct VarlinkGeneratorPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target as? any SourceModuleTarget else { return [] }
        let tool = try context.tool(named: "varlink-generator")
        return target.sourceFiles.map(\.url).filter { $0.pathExtension == "varlink" }.map { description in
            let base = description.deletingPathExtension()
            let output = context.pluginWorkDirectoryURL.appending(component: base.lastPathComponent + ".swift")
            let options = base.appendingPathExtension("options")
            let inputs = [description] + (FileManager.default.fileExists(atPath: options.path) ? [options] : [])
            return .buildCommand(
                displayName: "Generating \(base.lastPathComponent)", executable: tool.url,
                arguments: [description.path, output.path] + inputs.dropFirst().map(\.path), inputFiles: inputs,
                outputFiles: [output])
        }
    }
}
