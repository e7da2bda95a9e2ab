# SPDX-License-Identifier: Apache-2.0
"""Tests of the checker: it accepts a right hub, and detects each fault of a wrong one."""

import functools

from harness.expect import equal
from harness.runner import test

from . import checker, engine, model_hub
from .played import Fleet


@functools.cache
def found():
    """Some hosts change, come and go. For each fault: what is wrong about a hub with it; for None, about a right one."""
    with engine.Mosquitto() as broker, Fleet(broker.addresses, 24, size=6, seed=5, shares=1, wrong=0.2) as hosts:
        hubs = {fault: model_hub.ModelHub(broker.addresses[0], fault) for fault in (None, *model_hub.FAULTS)}

        def follow():
            for hub in hubs.values():
                hub.follow(quiet=0.1)

        hosts.all("start", share=0.8)
        hosts.settle()
        hosts.all("play", rate=300)
        hubs[None].follow(patience=2)
        hosts.all("end", how="reset", share=0.15)
        hosts.all("end", how="stop", share=0.1)
        model = hosts.settle()
        equal({host["state"] for host in model.values()}, {"ready", "lost", "stopped"})
        follow()
        # A new SUBSCRIBE brings all again. What is late comes last, so that only its number tells that it is late.
        for hub in hubs.values():
            hub.client.subscribe("statusd/1/#")
        follow()
        hosts.all("late")
        follow()
        return {fault: checker.differences(model, hub.list(), hub.table()) for fault, hub in hubs.items()}


@test("the checker accepts a hub that is right, after all that played hosts do")
def right():
    equal(found()[None], [])


def detects(fault, about):
    """Adds a test."""

    @test(f"the checker detects that {about}")
    def wrong():
        assert found()[fault], f"not detected: {about}"


for word, sentence in model_hub.FAULTS.items():
    detects(word, sentence)
