from __future__ import annotations


def test_a_project_is_made_listed_and_given_keys(client):
    made = client.post("/v1/projects", json={"name": "memory-lab"})
    assert made.status_code == 201
    project = made.json()
    assert project["name"] == "memory-lab"
    assert project in client.get("/v1/projects").json()["items"]
    key = client.post("/v1/keys", json={"name": "x", "scopes": ["read"], "project_id": project["id"]})
    assert key.json()["key"]["project_id"] == project["id"]


def test_a_name_is_taken_once(client):
    assert client.post("/v1/projects", json={"name": "lab"}).status_code == 201
    again = client.post("/v1/projects", json={"name": "lab"})
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")
    assert client.post("/v1/projects", json={"name": "lab2"}).status_code == 201


def test_projects_are_the_operators(client, key_with):
    admin = key_with("admin", "read")
    assert client.get("/v1/projects", headers=admin).status_code == 403
    assert client.post("/v1/projects", json={"name": "x"}, headers=admin).status_code == 403


def test_pages_hold_every_project_once(client, new_project):
    made = {new_project(f"p{number}") for number in range(4)}
    first = client.get("/v1/projects?limit=3").json()
    second = client.get(f"/v1/projects?limit=3&cursor={first['next_cursor']}").json()
    found = [project["id"] for project in first["items"] + second["items"]]
    assert len(found) == len(set(found)) == 5
    assert made < set(found)
    assert second["next_cursor"] is None
