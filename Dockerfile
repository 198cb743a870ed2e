# One image for everything; a stage names the command it runs by default:
#   docker build --target hub .   (collector, machine-agent; operator without --target)
# `make image` assembles the same without a container engine.
# a release names the base by its digest: see `make release-check`
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints-run.txt ./
COPY src src
# dependencies by hash; our own source after them, with nothing else downloaded
RUN python -m venv /opt/quarterdeck \
    && /opt/quarterdeck/bin/pip install --no-cache-dir --require-hashes --no-deps -r constraints-run.txt \
    && /opt/quarterdeck/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/quarterdeck/bin/pip uninstall -y hatchling editables pathspec pluggy trove-classifiers tomlkit packaging pip

FROM ${BASE} AS common
COPY --from=build /opt/quarterdeck /opt/quarterdeck
ENV PATH=/opt/quarterdeck/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["quarterdeck"]

FROM common AS collector
CMD ["collector"]

FROM common AS hub
CMD ["hub"]

FROM common AS machine-agent
CMD ["machine-agent"]

# the last stage is the default
FROM common AS operator
CMD ["run"]
