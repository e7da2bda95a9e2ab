// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import Varlink

// This module is isolated to the main actor by default, and its two interfaces have members of the same names.

final class Tickets: TicketsService {
    private var tickets: [TicketsInterface.Task] = []

    func add(_ parameters: AddParameters, _ call: TicketsCall<AddReply>) throws {
        if parameters.task.state == .done || call.caller.userID != getuid() { throw TicketsError.closed }
        tickets.append(parameters.task)
        call.reply(AddReply(number: tickets.count))
    }
}

final class Notes: NotesService {
    private var notes: [NotesInterface.Task] = []

    func add(_ parameters: AddParameters, _ call: NotesCall<AddReply>) throws {
        // Not an error of the interface.
        if parameters.task.text.isEmpty { throw IOError(errnoCode: EINVAL) }
        notes.append(parameters.task)
        call.reply(AddReply(count: notes.count))
    }
}

/// Has the loop of swift-nio, and runs next to the loop of Varlink.
final class Window {
    var loop: (any EventLoop)?
    private(set) var lines: [String] = []

    func show(_ line: String) { lines.append(line) }
}

@VarlinkActor
func makeService(_ address: VarlinkAddress) async throws(VarlinkAddress.Failure) -> VarlinkService {
    let info = VarlinkService.Info(vendor: "Example", product: "tickets", version: "1", url: "https://example.org/")
    return VarlinkService(info: info, interfaces: [Tickets(), Notes()], listeners: [try await address.listen()])
}

/// Serves two interfaces, and calls them from the main actor.
@main
struct Main {
    static func main() async {
        do {
            let address = try VarlinkAddress(parsing: CommandLine.arguments.dropFirst().first ?? "unix:@tickets")
            let service = try await makeService(address)
            let serving = Task { try await service.run() }
            let window = Window()
            try await call(address, window)
            print(window.lines.joined(separator: "\n"))
            serving.cancel()
            try await serving.value
        } catch let error as VarlinkAddress.Failure {
            print("\(error.code): \(error.message)")
            exit(1)
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func call(_ address: VarlinkAddress, _ window: Window) async throws {
        let connection = try await VarlinkConnection.connect(to: address)
        let (tickets, notes) = (TicketsClient(connection), NotesClient(connection))
        let ticket = try await tickets.add(task: TicketsInterface.Task(title: "paint", state: .open))
        let note = try await notes.add(task: NotesInterface.Task(text: "blue"))
        window.show("ticket \(ticket.number), note \(note.count)")
        do throws(TicketsError) {
            _ = try await tickets.add(task: TicketsInterface.Task(title: "rest", state: .done))
        } catch {
            window.show("\(error)")
        }
        do throws(NotesError) {
            _ = try await notes.add(task: NotesInterface.Task(text: ""))
        } catch .connection(let lost) {
            window.show("\(lost)")
        } catch {
            window.show("unexpected: \(error)")
        }
    }
}
