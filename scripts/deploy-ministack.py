#!/usr/bin/env python3
"""Deploys the real template with compiled bootstraps into ministack, posts updates to the deployed HTTP API, and checks
that the bot's replies reach Telegram in order and once.

usage: deploy-ministack.py [--skip-build] [--build-dir DIR] [--chats N] [--updates N] [--logs DIR]

Needs `pip install aws-sam-cli cargo-lambda 'ministack[full]'` and this interpreter to be of that environment.
Prints one closing line; exits 1 with the reason and the end of the log if something does not hold."""

import argparse
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import emulation as emu
from emulation import Failed, ROOT, STACK

# The wait for the last reply. A cold start of each function and one visibility timeout (120 s) fit in.
PATIENCE_SECONDS = 240
CHAT_BASE = 700_001_000
UPDATE_BASE = 510_000_000


def sam(endpoint, log, *words):
    command = [emu.tool("sam"), *words]
    done = subprocess.run(command, cwd=ROOT, env=emu.aws_env(endpoint), stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Failed(f"`sam {words[0]}` ended with {done.returncode}")


def deploy(endpoint, build_dir, telegram_root, log):
    started = time.monotonic()
    sam(
        endpoint, log, "deploy",
        "--template-file", str(build_dir / "template.yaml"),
        "--stack-name", STACK, "--resolve-s3", "--no-confirm-changeset", "--no-progressbar",
        "--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND",
        "--parameter-overrides", f"TelegramApiRoot={telegram_root}",
    )
    stack = emu.client("cloudformation", endpoint).describe_stacks(StackName=STACK)["Stacks"][0]
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
    return outputs, time.monotonic() - started


def add_route(endpoint, base):
    """Adds the one route of the HTTP API. SAM writes routes into the API's OpenAPI body, and ministack 1.5 creates the
    API and its stage but does not read that body; everything else is as it was deployed."""
    gateway, functions = emu.client("apigatewayv2", endpoint), emu.client("lambda", endpoint)
    api = re.match(r"https://([^.]+)\.", base).group(1)
    if gateway.get_routes(ApiId=api)["Items"]:
        return
    arn = functions.get_function(FunctionName=f"{STACK}-ingress")["Configuration"]["FunctionArn"]
    integration = gateway.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationUri=arn, PayloadFormatVersion="2.0"
    )["IntegrationId"]
    gateway.create_route(ApiId=api, RouteKey="ANY /{proxy+}", Target=f"integrations/{integration}")


class Webhook:
    """The deployed HTTP API, reached by its own host name on the emulation's port."""

    def __init__(self, endpoint, base):
        self.endpoint = endpoint
        self.host = re.match(r"https://([^.]+\.execute-api)\.", base).group(1) + ".localhost"

    def request(self, method, path, body=None, secret=emu.SECRET):
        headers = {"Host": self.host, "Content-Type": "application/json"}
        if secret:
            headers["X-Telegram-Bot-Api-Secret-Token"] = secret
        request = urllib.request.Request(self.endpoint + path, data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def post(self, body, secret=emu.SECRET):
        return self.request("POST", f"/telegram/{emu.BOT_ID}/{emu.PATH_KEY}", json.dumps(body).encode(), secret)


def update(update_id, chat, n):
    person = {"id": chat, "first_name": "Ada", "last_name": "Example"}
    message = {
        "message_id": n,
        "from": person | {"is_bot": False, "language_code": "en"},
        "chat": person | {"type": "private"},
        "date": int(time.time()),
        "text": f"message {n}",
    }
    return {"update_id": update_id, "message": message}


def check_refusals(webhook):
    path = f"/telegram/{emu.BOT_ID}/{emu.PATH_KEY}"
    body = json.dumps(update(UPDATE_BASE, CHAT_BASE, 1)).encode()
    for what, status, expected in (
        ("a wrong secret", webhook.request("POST", path, body, "not-the-secret-not-the-secret-not-it"), 403),
        ("no secret", webhook.request("POST", path, body, None), 403),
        ("a GET", webhook.request("GET", path), 405),
        ("another path", webhook.request("POST", "/somewhere/else", body), 404),
        ("an update_id that is no number", webhook.post({"update_id": "abc"}), 400),
    ):
        if status != expected:
            raise Failed(f"{what} was answered {status}, not {expected}")


def talk(webhook, chat_index, updates, posted):
    """One chat says its messages one after the other, as Telegram posts them; every fifth is posted twice."""
    chat = CHAT_BASE + chat_index
    for n in range(1, updates + 1):
        one = update(UPDATE_BASE + 1 + chat_index * updates + n, chat, n)
        posted[(chat, n)] = time.time()
        for _ in range(2 if n % 5 == 0 else 1):
            status = emu.wait_until("a 200 from the webhook", 30, lambda: answered(webhook, one))
            if status != 200:
                raise Failed(f"message {n} of chat {chat} was answered {status}")


def answered(webhook, one):
    status = webhook.post(one)
    # 503 is ingress asking for the request again: what Telegram would do.
    return None if status == 503 else status


def replies(telegram, chat):
    return [call for call in list(telegram.calls) if call["method"] == "sendMessage" and int(call["params"]["chat_id"]) == chat]


def queues_are_empty(sqs, outputs):
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")
    # The dead-letter queues too: one body was put in quarantine, and dead_letter has to file it.
    for key in (key for key in outputs if key.endswith("QueueUrl")):
        counts = sqs.get_queue_attributes(QueueUrl=outputs[key], AttributeNames=list(names))["Attributes"]
        if any(int(counts.get(name, 0)) for name in names):
            return False
    return True


def number_in(text):
    if found := re.search(r"\d+", text):
        return int(found.group())
    raise Failed(f"the reply {text!r} counts nothing")


def check_replies(telegram, chats, updates, posted):
    """The example bot counts a chat's messages, so its replies must be numbered 1, 2, 3: in order, each once."""
    latencies = []
    for chat in (CHAT_BASE + index for index in range(chats)):
        there = replies(telegram, chat)
        numbers = [number_in(call["params"]["text"]) for call in there]
        if numbers != list(range(1, updates + 1)):
            raise Failed(f"chat {chat} got replies {numbers}, not 1 to {updates} in order")
        latencies += [call["at"] - posted[(chat, n)] for call, n in zip(there, numbers, strict=True)]
    if any(call["token"] != emu.TOKEN for call in telegram.calls):
        raise Failed("a call carried another token than the bot's")
    return sorted(latencies)


def run(options, logs):
    with (
        (logs / "sam.log").open("w") as sam_log,
        (logs / "ministack.log").open("w") as ministack_log,
        emu.Telegram() as telegram,
        emu.ministack(ministack_log) as endpoint,
    ):
        if not options.skip_build:
            sam(endpoint, sam_log, "build", "--build-dir", str(options.build_dir))
        outputs, deploy_seconds = deploy(endpoint, options.build_dir, telegram.root, sam_log)
        add_route(endpoint, outputs["WebhookBase"])
        emu.create_bot_secret(endpoint)
        webhook = Webhook(endpoint, outputs["WebhookBase"])
        check_refusals(webhook)
        posted, started = {}, time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(options.chats) as pool:
            jobs = [pool.submit(talk, webhook, index, options.updates, posted) for index in range(options.chats)]
            for job in jobs:
                job.result()
        total = options.chats * options.updates
        sqs = emu.client("sqs", endpoint)
        emu.wait_until(
            f"{total} replies and empty queues", PATIENCE_SECONDS,
            lambda: len([c for c in list(telegram.calls) if c["method"] == "sendMessage"]) >= total and queues_are_empty(sqs, outputs),
        )
        seconds = time.monotonic() - started
        latencies = check_replies(telegram, options.chats, options.updates, posted)
    p50 = statistics.median(latencies)
    p99 = latencies[min(len(latencies) - 1, int(len(latencies) * 0.99))]
    print(
        f"deploy-ministack: {total} updates of {options.chats} chats answered in order and once in {seconds:.1f} s "
        f"(receive to sent p50 {p50:.2f} s, p99 {p99:.2f} s), repeats swallowed, deployed in {deploy_seconds:.1f} s"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skip-build", action="store_true", help="take what was built before")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / ".aws-sam/build", help="of `sam build`")
    parser.add_argument("--chats", type=int, default=5)
    parser.add_argument("--updates", type=int, default=10, help="messages per chat")
    parser.add_argument("--logs", type=pathlib.Path, help="folder that keeps the logs (default: none is kept)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-logs-") as kept:
        logs = options.logs or pathlib.Path(kept)
        logs.mkdir(parents=True, exist_ok=True)
        try:
            run(options, logs)
        except Failed as failure:
            for name in ("sam.log", "ministack.log"):
                if (logs / name).exists():
                    print(f"---- end of {name}", (logs / name).read_text(errors="replace")[-4000:], sep="\n", file=sys.stderr)
            print(f"deploy-ministack: failed: {failure}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
