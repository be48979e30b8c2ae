"""What the scripts of this folder share: ministack (an emulation of AWS that is not ours), a Telegram that records,
and the resources of template.yaml. Everything listens on 127.0.0.1 and is stopped by the process id it was started with.
Never talks to AWS or Telegram."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

ROOT = pathlib.Path(__file__).resolve().parent.parent
STACK = "penstock"
BOT_ID = 424242
# The simulated bot: these protect nothing. Path key and secret are those of the committed events.
TOKEN = f"{BOT_ID}:PENSTOCK-local-simulated-token-000"
PATH_KEY = "sample-path-key-0001"
SECRET = "sample-webhook-secret-that-protects-nothing"


class Failed(Exception):
    """A check did not hold; the message is all that a reader needs."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(what, seconds, condition):
    """Asks until the condition gives something true, and returns it; fails after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if found := condition():
                return found
        time.sleep(0.1)
    raise Failed(f"{what}: not within {seconds} s")


def tool(name):
    """A program that lives beside the interpreter (a virtual environment) or on the path."""
    beside = pathlib.Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else name


@contextlib.contextmanager
def process(command, log, **options):
    """Runs a program in a process group of its own, which ends with the block."""
    child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **options)
    try:
        yield child
    finally:
        for sign, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            # The group may outlive its first process: what a function host started ends with it too.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(patience)


@contextlib.contextmanager
def ministack(log):
    """Starts ministack and gives its endpoint; its functions run as plain processes."""
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="penstock-ministack-") as home:
        env = aws_env(endpoint) | {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "LAMBDA_EXECUTOR": "local",
            "IOT_MTLS_ENABLED": "0",
            "HOME": home,
        }
        with process([tool("ministack")], log, env=env, cwd=home) as child:

            def answers():
                if child.poll() is not None:
                    raise Failed(f"ministack ended with {child.returncode}; is `ministack[full]` installed?")
                with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=2) as answer:
                    return answer.status == 200

            wait_until("ministack answers", 60, answers)
            yield endpoint


def aws_env(endpoint):
    """The environment of a program that shall take the emulation for AWS."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "CARGO_TARGET_DIR") if name in os.environ}
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    return kept | {
        "PATH": path,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "SAM_CLI_TELEMETRY": "0",
    }


def client(service, endpoint):
    """A boto3 client of the emulation."""
    import boto3

    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def create_bot_secret(endpoint, path_key=PATH_KEY, secret=SECRET):
    body = {"token": TOKEN, "webhook_secret": secret, "path_key": path_key, "instant_ack": "off"}
    client("secretsmanager", endpoint).create_secret(Name=f"{STACK}/bot/{BOT_ID}", SecretString=json.dumps(body))


class Telegram:
    """A Bot API that says yes to everything and records what it was asked, in order."""

    def __init__(self):
        self.calls = []
        lock = threading.Lock()
        calls = self.calls

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                is_json = "json" in self.headers.get("content-type", "")
                params = json.loads(body or b"{}") if is_json else dict(parse_qsl(body.decode()))
                token, method = self.path.removeprefix("/bot").split("/", 1)
                with lock:
                    calls.append({"at": time.time(), "method": method, "token": token, "params": params})
                    number = len(calls)
                chat = {"id": int(params.get("chat_id", 0)), "type": "private"}
                message = {"message_id": number, "date": int(time.time()), "chat": chat, "text": params.get("text", "")}
                sends = method.startswith(("send", "edit", "copy", "forward"))
                self.answer({"ok": True, "result": message if sends else True})

            do_GET = do_POST

            def answer(self, value):
                body = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def template():
    """template.yaml as a value, intrinsic functions in their long form."""
    from samcli.yamlhelper import yaml_parse

    return yaml_parse((ROOT / "template.yaml").read_text())


def create_storage(endpoint):
    """Creates the queues and the table of template.yaml, nothing else, and gives their physical ids by logical id."""
    whole = template()
    kinds = ("AWS::SQS::Queue", "AWS::DynamoDB::Table")
    body = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {name: one for name, one in whole["Resources"].items() if one["Type"] in kinds},
    }
    stacks = client("cloudformation", endpoint)
    stacks.create_stack(StackName=STACK, TemplateBody=json.dumps(body))

    def ended():
        status = stacks.describe_stacks(StackName=STACK)["Stacks"][0]["StackStatus"]
        return None if status.endswith("IN_PROGRESS") else status

    status = wait_until("the storage stack ends", 60, ended)
    if status != "CREATE_COMPLETE":
        raise Failed(f"the storage stack ended as {status}")
    there = stacks.describe_stack_resources(StackName=STACK)["StackResources"]
    return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in there}


def function_environment(logical_id, physical, overrides):
    """The environment that template.yaml gives to a function, with references resolved."""
    whole = template()
    given = {name: parameter.get("Default") for name, parameter in whole["Parameters"].items()}
    known = given | physical | overrides | {"AWS::StackName": STACK}

    def resolve(value):
        if isinstance(value, dict) and "Ref" in value:
            return str(known[value["Ref"]])
        if isinstance(value, dict) and "Fn::Sub" in value:
            text = value["Fn::Sub"]
            for name, one in known.items():
                text = text.replace("${" + name + "}", str(one))
            return text
        return str(value)

    shared = whole["Globals"]["Function"]["Environment"]["Variables"]
    own = whole["Resources"][logical_id]["Properties"].get("Environment", {}).get("Variables", {})
    return {name: resolve(value) for name, value in (shared | own).items()}
