#!/usr/bin/env python3
"""Writes signalbox(1) from what the program declares about itself.

    signalbox --experimental-dump-help | scripts/package/manual.py VERSION
"""
import json
import re
import sys

OPENING = """\
.Dd $Mdocdate$
.Dt SIGNALBOX 1
.Os "Signalbox {version}"
.Sh NAME
.Nm signalbox
.Nd {abstract}
.Sh SYNOPSIS
.Nm
.Ar command
.Op Ar options
.Sh DESCRIPTION
One file,
.Pa gateway.yaml ,
routes inbound events to outbound pushes.
.Nm
runs that gateway, checks it, and looks at what it keeps.
Every command takes
.Fl -help
and
.Fl -version .
.Sh COMMANDS
"""

CLOSING = """\
.Sh SIGNALS
.Bl -tag -width Ds
.It SIGTERM , SIGINT
.Cm run
sends what is in memory within
.Ic gateway.drain ,
leaves the rest on disk, and exits.
A second one ends it at once; nothing is lost.
.It SIGHUP
.Cm run
applies a changed
.Pa gateway.yaml .
A faulty one is logged and changes nothing.
.El
.Sh ENVIRONMENT
.Bl -tag -width Ds
.It Ev SIGNALBOX_PLUGINS
Folders of plugins, separated by colons, that are searched first.
.It Ev NOTIFY_SOCKET , WATCHDOG_USEC , LISTEN_FDS , LISTEN_PID , LISTEN_FDNAMES
What
.Xr systemd 1
sets for a service of
.Li Type=notify ,
with a watchdog and sockets.
.El
.Pp
.Pa gateway.yaml
reads others as
.Li ${env:NAME} .
.Sh FILES
.Bl -tag -width Ds
.It Pa /etc/signalbox/gateway.yaml
The configuration of the service.
.It Pa /etc/signalbox/environment
Its variables, one
.Li NAME=value
per line.
.It Pa /var/lib/signalbox
Its data.
.El
.Sh EXIT STATUS
.Bl -tag -width Ds
.It 0
Done.
.It 1
A check failed, or the command could not do its work; the message says why.
.It 64
The command line is wrong.
.It 75
Something that may pass by itself: a database that is away, a full disk.
.It 78
Faults in the configuration, each with line and column.
.It 130
A second signal ended the program.
.El
.Sh SEE ALSO
.Pa /usr/share/doc/signalbox ,
.Xr systemctl 1
"""


def text(words):
    """Text that troff reads as it is."""
    words = words.replace("\\", "\\e").replace("-", "\\-")
    lines = re.split(r"(?<=[.:;]) +(?=[A-Z])", words)
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in lines)


def shown(entry):
    return [a for a in entry.get("arguments", []) if a["shouldDisplay"]
            and a.get("preferredName", {}).get("name") not in ("help", "version")]


def names(argument):
    dashes = {"long": "--", "short": "-", "longWithSingleDash": "-"}
    given = [dashes[n["kind"]] + n["name"] for n in argument["names"]]
    return [n.replace("-", "\\-") for n in sorted(given, key=len)]


def item(argument):
    value = argument["valueName"]
    if argument["kind"] == "positional":
        head = f".It Ar {value}" + (" ..." if argument["isRepeating"] else "")
    else:
        head = ".It " + ", ".join(names(argument))
        if argument["kind"] == "option":
            head += f" Ar {value}"
    body = text(argument.get("abstract", ""))
    default = argument.get("defaultValue")
    if default and not default.startswith("--"):
        body += "\nThe default is\n.Li " + default.replace("-", "\\-") + " ."
    return head + "\n" + body


def commands(entry, path=""):
    """The pages of all commands that do something themselves."""
    for sub in entry.get("subcommands", []):
        if sub["commandName"] == "help" or not sub["shouldDisplay"]:
            continue
        name = (path + " " + sub["commandName"]).strip()
        if sub.get("subcommands"):
            yield from commands(sub, name)
            continue
        arguments = shown(sub)
        usage = [".Op Ar options"] if any(a["kind"] != "positional" for a in arguments) else []
        usage += [f".Ar {a['valueName']}" for a in arguments if a["kind"] == "positional"]
        out = [f".Ss {name}", f".Nm Cm {name}"] + usage + [".Pp", text(sub["abstract"])]
        if sub.get("discussion"):
            out += [text(sub["discussion"])]
        if arguments:
            out += [".Bl -tag -width Ds"] + [item(a) for a in arguments] + [".El"]
        yield "\n".join(out)


def main():
    program = json.load(sys.stdin)["command"]
    page = OPENING.format(version=sys.argv[1], abstract=program["abstract"].rstrip("."))
    page += "\n".join(commands(program)) + "\n" + CLOSING
    sys.stdout.write(page)


main()
