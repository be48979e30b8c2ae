#!/usr/bin/env python3
"""Runs compiled bootstraps under the Lambda Runtime Interface Emulator with every event of events/, and prints what each
answered and how long it took.

usage: rie.py [--build-dir DIR] [--logs DIR] [NAME=PATH ...]      NAME: ingress, processor, sender, dead_letter; PATH: its bootstrap

Without NAME=PATH all four bootstraps of `sam build` are run. Queues, table and secrets are those of ministack, created
from template.yaml; the processor's real output is the sender's input. Exits 1 if an invocation errs, an HTTP status is
not what events/expect.json says, or an item of a batch fails. Linux on x86_64 only, as the emulator is."""

import argparse
import contextlib
import json
import pathlib
import re
import socket
import sys
import tempfile
import time
import urllib.request

import emulation as emu
from emulation import Failed, ROOT

EVENTS = ROOT / "events"
# Function: its logical id and the folders of events/ that it is run with. The sender's events are made on the way.
FUNCTIONS = {
    "ingress": ("IngressFunction", ["http"]),
    "processor": ("ProcessorFunction", ["sqs"]),
    "sender": ("SenderFunction", []),
    "dead_letter": ("DeadLetterFunction", ["dead"]),
}
LAMBDA_MEMORY_MB = 256


def emulator():
    import samcli

    return pathlib.Path(samcli.__file__).parent / "local/rapid/aws-lambda-rie-x86_64"


class Function:
    """One bootstrap under the emulator."""

    def __init__(self, name, port, child, log):
        self.name, self.url, self.child, self.log = name, f"http://127.0.0.1:{port}", child, log

    def invoke(self, event):
        """Gives the answer and the milliseconds until it came."""
        url = f"{self.url}/2015-03-31/functions/function/invocations"
        started = time.monotonic()
        with urllib.request.urlopen(urllib.request.Request(url, data=event, method="POST"), timeout=60) as answer:
            body = answer.read()
        return json.loads(body or b"null"), (time.monotonic() - started) * 1000

    def peak_memory_mb(self):
        """The most resident memory that the bootstrap has had (VmHWM), in MB; None where /proc does not say."""
        with contextlib.suppress(OSError, IndexError, AttributeError):
            tasks = pathlib.Path(f"/proc/{self.child.pid}/task").glob("*/children")
            children = " ".join(task.read_text() for task in tasks).split()
            status = pathlib.Path(f"/proc/{children[0]}/status").read_text()
            return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024
        return None

    def init_ms(self):
        found = re.search(r"INIT[_ ]REPORT\D*([\d.]+)", pathlib.Path(self.log.name).read_text(errors="replace"))
        return float(found.group(1)) if found else None


@contextlib.contextmanager
def running(name, bootstrap, environment, endpoint, logs):
    port, api_port = emu.free_port(), emu.free_port()
    command = [
        str(emulator()),
        "--runtime-interface-emulator-address", f"127.0.0.1:{port}",
        "--runtime-api-address", f"127.0.0.1:{api_port}",
        str(bootstrap),
    ]
    env = emu.aws_env(endpoint) | environment | {
        "AWS_LAMBDA_FUNCTION_NAME": f"{emu.STACK}-{name.replace('_', '-')}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(LAMBDA_MEMORY_MB),
        "AWS_LAMBDA_FUNCTION_TIMEOUT": "20",
    }
    with (logs / f"{name}.log").open("w") as log, emu.process(command, log, env=env, cwd=logs) as child:

        def listens():
            with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=1)):
                return True

        emu.wait_until(f"the emulator of {name} listens", 20, listens)
        yield Function(name, port, child, log)


def judge(folder, name, answer, expected):
    """What to print of an answer, and whether it is as it should be."""
    if isinstance(answer, dict) and "errorType" in answer:
        return f"error {answer['errorType']}: {answer.get('errorMessage', '')}"[:100], False
    if folder == "http":
        status = answer.get("statusCode") if isinstance(answer, dict) else None
        return f"http {status}", status == expected[name]["http_status"]
    failures = answer.get("batchItemFailures") if isinstance(answer, dict) else None
    if failures is None:
        return f"no partial batch response: {answer}"[:100], False
    return f"{len(failures)} failed", not failures


def outbound_events(sqs, queue_url):
    """Takes what the processor has put into the outbound queue, one SQS event per receive."""
    while True:
        messages = sqs.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
        ).get("Messages", [])
        if not messages:
            return
        records = [
            {
                "messageId": one["MessageId"],
                "receiptHandle": one["ReceiptHandle"],
                "body": one["Body"],
                "attributes": one["Attributes"],
                "messageAttributes": {},
                "md5OfBody": one["MD5OfBody"],
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:us-east-1:000000000000:{queue_url.rsplit('/', 1)[1]}",
                "awsRegion": "us-east-1",
            }
            for one in messages
        ]
        yield json.dumps({"Records": records}).encode()
        for one in messages:
            sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=one["ReceiptHandle"])


def events_of(name, physical, sqs):
    """Folder, name and bytes of each event of a function."""
    for folder in FUNCTIONS[name][1]:
        for path in sorted((EVENTS / folder).glob("*.json")):
            yield folder, path.stem, path.read_bytes()
    if name == "sender":
        for number, event in enumerate(outbound_events(sqs, physical["OutboundQueue"]), 1):
            yield "outbound", f"batch_{number}", event


def run(bootstraps, logs):
    expected = {one["name"]: one for one in json.loads((EVENTS / "expect.json").read_text())}
    counts, bad, notes = {}, [], []
    with (logs / "ministack.log").open("w") as log, emu.Telegram() as telegram, emu.ministack(log) as endpoint:
        physical = emu.create_storage(endpoint)
        emu.create_bot_secret(endpoint)
        sqs = emu.client("sqs", endpoint)
        print(f"{'function':<13}{'event':<34}{'answer':<34}{'ms':>8}")
        for name in FUNCTIONS:
            if name not in bootstraps:
                continue
            environment = emu.function_environment(FUNCTIONS[name][0], physical, {"TelegramApiRoot": telegram.root})
            with running(name, bootstraps[name], environment, endpoint, logs) as function:
                for folder, event_name, event in events_of(name, physical, sqs):
                    answer, ms = function.invoke(event)
                    text, is_good = judge(folder, event_name, answer, expected)
                    counts[name] = counts.get(name, 0) + 1
                    if not is_good:
                        bad.append(f"{name} {folder}/{event_name}: {text}")
                    print(f"{name:<13}{folder + '/' + event_name:<34}{text:<34}{ms:>8.1f}{'' if is_good else '  <- wrong'}")
                init, peak = function.init_ms(), function.peak_memory_mb()
                note = f"{name} {counts.get(name, 0)} events"
                note += "" if init is None else f", init {init:.0f} ms"
                notes.append(note + ("" if peak is None else f", peak {peak:.1f} MB"))
        calls = len(telegram.calls)
    if missing := [name for name in bootstraps if not counts.get(name)]:
        raise Failed(f"no event reached {', '.join(missing)}")
    if bad:
        raise Failed(f"{len(bad)} of {sum(counts.values())} events: " + "; ".join(bad[:5]))
    print(f"rie: {sum(counts.values())} events as expected, {calls} calls of the Bot API ({'; '.join(notes)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / ".aws-sam/build", help="of `sam build`")
    parser.add_argument("--logs", type=pathlib.Path, help="folder that keeps the logs (default: none is kept)")
    parser.add_argument("bootstraps", nargs="*", metavar="NAME=PATH")
    options = parser.parse_args()
    given = dict(one.split("=", 1) for one in options.bootstraps if "=" in one)
    if len(given) != len(options.bootstraps) or not given.keys() <= FUNCTIONS.keys():
        parser.error(f"a bootstrap is given as NAME=PATH with NAME one of {', '.join(FUNCTIONS)}")
    built = {name: options.build_dir / logical_id / "bootstrap" for name, (logical_id, _) in FUNCTIONS.items()}
    bootstraps = {name: pathlib.Path(path).resolve() for name, path in (given or built).items()}
    for name, path in bootstraps.items():
        if not path.is_file():
            parser.error(f"no bootstrap of {name} at {path}: run `sam build`, or give NAME=PATH")
    with tempfile.TemporaryDirectory(prefix="penstock-logs-") as kept:
        logs = (options.logs or pathlib.Path(kept)).resolve()
        logs.mkdir(parents=True, exist_ok=True)
        try:
            run(bootstraps, logs)
        except Failed as failure:
            for path in sorted(logs.glob("*.log")):
                print(f"---- end of {path.name}", path.read_text(errors="replace")[-3000:], sep="\n", file=sys.stderr)
            print(f"rie: failed: {failure}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
