"""Hands what comes in over TLS on to a plain port, and the answer back. Prints its own port."""

import socket
import ssl
import sys
import threading

server, plain = sys.argv[1], int(sys.argv[2])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(server)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(raw):
    try:
        outer = context.wrap_socket(raw, server_side=True)
    except OSError:
        return  # Whoever asked does not trust the certificate.
    with outer, socket.create_connection(("127.0.0.1", plain)) as inner:
        threading.Thread(target=pump, args=(outer, inner), daemon=True).start()
        pump(inner, outer)


while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
