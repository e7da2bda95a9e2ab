// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources

/// What a restart keeps of servers and their sources.
extension ServerRegistry {
    /// Continues with a server that the monitor has restored.
    func adopt(_ name: ServerName, _ server: ServerConfiguration, _ memory: SourceMemory) {
        let isOther = memory.subject == nil || memory.subject != server.source?.identity
        let state = try? monitor.state(of: name)
        let failure = start(
            server, of: name, shown: isOther ? nil : state?.status?.level,
            restored: isOther || state?.isRestored != true ? nil : restoredSource(name, memory))
        if failure != nil { shownSubjects[name] = .some(memory.subject) }
        try? monitor.redefine(
            server.definition(name: name, failure: failure), isOfNewSource: isOther && failure == nil)
        if isOther || memory.isGuest { monitor.keepUnsaved([name]) }
    }

    private func restoredSource(_ name: ServerName, _ memory: SourceMemory) -> RestoredSource? {
        guard let age = try? monitor.age(of: name), let state = try? monitor.state(of: name) else { return nil }
        return RestoredSource(memory, age: age, isUrgent: state.isSelected || state.phase == .failed)
    }

    /// Continues with restored servers that are not configured: those that were added by posts stay, if they may still
    /// be added so; others are removed.
    ///
    /// But a file that cannot be used may configure them: until it is corrected, they are failed.
    func keepRestored() {
        for (name, memory) in restored {
            if memory.isGuest, configuration.acceptsAny {
                restored[name] = nil
                guests.insert(name)
                socketless.append((name, memory))
                if waiting.remove(name) != nil {
                    try? monitor.redefine(ServerDefinition(name: name, source: Self.guestSource.key))
                }
            } else if let reason = missingReason(of: name) {
                waiting.insert(name)
                try? monitor.fail(name, because: reason)
            } else {
                restored[name] = nil
                waiting.remove(name)
                // The configuration's choice takes its place.
                if (try? monitor.selectedState().name) == name { hasSelected = false }
                remove(name)
            }
        }
        openRestoredSockets()
    }

    /// The reply to a plan, in which servers that have waited for a file are changed or removed, not added.
    func reply(to plan: ReloadPlan, of read: ReadConfiguration) -> ReloadReply {
        var reply = plan.reply
        let names = Set(waiting.map(\.rawValue))
        reply.changed = (reply.changed + reply.added.filter(names.contains)).sorted()
        reply.added.removeAll(where: names.contains)
        guard read.failedFile == nil else { return reply }
        let configuration = read.configuration
        let gone = waiting.filter { name in
            configuration.servers[name] == nil && !(configuration.acceptsAny && restored[name]?.isGuest == true)
        }
        reply.removed = (reply.removed + gone.map(\.rawValue)).sorted()
        return reply
    }

    /// Why a restored server is not followed although it may be configured; nil if that is not so.
    func missingReason(of name: ServerName) -> String? {
        guard restored[name] != nil, let failedFile else { return nil }
        return "it is not configured now; correct \(failedFile), which may configure it"
    }

    /// Opens the notify sockets of restored servers, as many in a turn as there is time for: there may be thousands.
    private func openRestoredSockets() {
        let share = TurnShare()
        while !share.isUsedUp {
            guard let (name, memory) = socketless.popLast() else { return socketless = [] }
            // It may have been opened since, or forgotten.
            guard guests.contains(name), sources[name] == nil, closedSources[name] == nil else { continue }
            openNotifySocket(ofGuest: name, restored: restoredSource(name, memory))
        }
        EventLoop.atNextTurn { [weak self] in self?.openRestoredSockets() }
    }

    /// What a restart should keep of a server's source.
    func memory(of name: ServerName) -> SourceMemory {
        if let memory = restored[name] { return memory }
        var memory = SourceMemory()
        memory.isGuest = guests.contains(name)
        let source = memory.isGuest ? Self.guestSource : configuration.servers[name]?.source
        memory.subject = shownSubjects[name] ?? source?.identity
        sources[name]?.note(in: &memory)
        return memory
    }
}
